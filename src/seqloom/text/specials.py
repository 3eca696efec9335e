"""The pieces that stand for no text. Their ids are the same in every vocabulary."""

SPECIALS = ("<unk>", "<s>", "</s>", "<mask>", "<sep>")
UNKNOWN, BEGIN, END, MASK, SEPARATOR = range(len(SPECIALS))
