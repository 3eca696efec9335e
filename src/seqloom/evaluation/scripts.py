"""How BLEU should cut texts into tokens, by the script that they are written in."""

import re
from collections.abc import Iterable

from seqloom.evaluation.settings import EvaluationSettings, Tokenizer

HAN = "々〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
KANA = "ぁ-ゖァ-ヺー\uff66-\uff9d"
# Thai, Lao, Tibetan, Burmese, Khmer, the scripts of the Tai languages, Javanese
OTHERS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua980-\ua9ff\uaa60-\uaadf"
LEAST_KANA = 0.05  # of Han and kana: Japanese has many times as much, Chinese only a borrowed name

_HAN, _KANA, _OTHERS = (re.compile(f"[{signs}]") for signs in (HAN, KANA, OTHERS))
_SPACED = re.compile(rf"[^\W\d_{HAN}{KANA}{OTHERS}]")


def tokenizer_for(references: Iterable[Iterable[str]]) -> Tokenizer:
    """13a, but for texts that are mostly in scripts without spaces, of which 13a would make one token a sentence.

    Words of Chinese are cut as sacreBLEU does (zh: a token a character); of the others each character is a token.
    """
    han = kana = others = spaced = 0
    for texts in references:
        for text in texts:
            if text.isascii():
                spaced += len(text)  # nearly; which is enough
                continue
            han += len(_HAN.findall(text))
            kana += len(_KANA.findall(text))
            others += len(_OTHERS.findall(text))
            spaced += len(_SPACED.findall(text))
    if han + kana + others <= spaced:
        return "13a"
    return "zh" if han > others and kana < LEAST_KANA * (han + kana) else "char"


def settled(settings: EvaluationSettings, references: Iterable[Iterable[str]]) -> EvaluationSettings:
    """The same, with the tokenizer of BLEU chosen where it is left to the references."""
    if settings.bleu.tokenize != "auto":
        return settings
    bleu = settings.bleu.model_copy(update={"tokenize": tokenizer_for(references)})
    return settings.model_copy(update={"bleu": bleu})


def told(tokenizer: Tokenizer) -> str | None:
    """What a reader should know of the choice; None: it is what everybody expects."""
    if tokenizer == "13a":
        return None
    return f"BLEU counts tokens of {tokenizer!r}, as the references are written without spaces"
