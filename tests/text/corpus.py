"""Small texts of many languages to learn from."""

from seqloom.text import BPE, Bytes, Characters, PieceSettings, Unigram, Words

LINES = [
    "The quick brown fox jumps over the lazy dog, and the dog doesn't mind.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "今天天气很好，我们去公园散步。",
    "今天我们不去公园，明天天气好再去。",
    "吾輩は猫である。名前はまだ無い。",
    "สวัสดีครับ วันนี้อากาศดีมาก",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    "שלום עולם, מה שלומך היום?",
    "नमस्ते दुनिया, आप कैसे हैं?",
    "می‌خواهم به خانه بروم",
    "👩‍🚀 flies 🚀 and 👍🏽 waves 🇩🇪",
    "if x <= 3 and y > 2:\n\treturn  {'<s>': [1, 2]}  # </s> <unk> <mask> <sep>",
    "cafe\u0301 naïve coöperate ﬁne 12 345,67 € ½ ²",
]
TEXTS = LINES * 3

SUBWORDS: list[PieceSettings] = [BPE(size=400), BPE(size=400, bytes=True), Unigram(size=500)]
LOSSLESS: list[PieceSettings] = [Characters(), Bytes(), *SUBWORDS]
ALL: list[PieceSettings] = [*LOSSLESS, Words(), Words(split="punctuation")]


def name(settings: PieceSettings) -> str:
    extra = "-bytes" if isinstance(settings, BPE) and settings.bytes else ""
    return settings.kind + (f"-{settings.split}" if isinstance(settings, Words) else extra)
