"""How scores are counted, and how sure they have to be."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.evaluation.interval import RESAMPLES
from seqloom.evaluation.significance import TRIALS
from seqloom.settings import Frozen

Tokenizer = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]


class BleuSettings(Frozen):
    """Of BLEU."""

    tokenize: Tokenizer = "auto"
    """sacreBLEU's tokenizers; zh, ja-mecab and ko-mecab for Chinese, Japanese and Korean, char for any other script.
    auto: 13a; for references that are mostly in scripts without spaces, zh for Chinese and char for the others"""


class RougeSettings(Frozen):
    """Of ROUGE."""

    stemmed: bool = False
    """compare the stems of English words (Porter 1980)"""
    tokens: Literal["ascii", "unicode"] = "ascii"
    """unicode keeps the letters of other languages, but is not what others count"""


class EvaluationSettings(Frozen):
    """How scores are counted."""

    bleu: BleuSettings = BleuSettings()
    rouge: RougeSettings = RougeSettings()
    lowercase: bool = False
    """compare in lower case; TER and ROUGE always do"""
    context: Annotated[int, Field(ge=1)] | None = None
    """of running text, tokens that are read together; unset: as many as in training"""
    stride: Annotated[int, Field(ge=1)] | None = None
    """and of these how many are scored, the last ones: each has then context − stride before it, or all that there are;
    unset: all are scored, the first of them with nothing before it"""
    part: Literal["test", "valid"] = "test"
    """of a series that a forecaster was trained on: which part it kept back; without a test part it is valid"""
    season: Annotated[int, Field(ge=1)] = 1
    """of series, for MASE: its scale is how far values lie apart that are so many steps apart"""
    resamples: Annotated[int, Field(ge=100)] = RESAMPLES
    """of the bootstrap, for intervals"""
    trials: Annotated[int, Field(ge=100)] = TRIALS
    """of approximate randomisation, for p-values"""
    seed: Annotated[int, Field(ge=0)] = 1
