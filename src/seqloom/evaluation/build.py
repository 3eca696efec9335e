"""A metric by its name."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, assert_never, get_args

from numpy.typing import ArrayLike

from seqloom.evaluation.bleu import Bleu
from seqloom.evaluation.chrf import Chrf
from seqloom.evaluation.error_rate import ErrorRate
from seqloom.evaluation.exact_match import ExactMatch, SequenceErrorRate
from seqloom.evaluation.gleu import Gleu
from seqloom.evaluation.labels import Accuracy, LabelF1, Labels
from seqloom.evaluation.likelihood import BitsPerCharacter, Perplexity, PseudoPerplexity
from seqloom.evaluation.metric import Metric
from seqloom.evaluation.rolling import RollingMetric
from seqloom.evaluation.rouge import Rouge
from seqloom.evaluation.series import AbsoluteError, Crps, ScaledError, SquaredError
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.spans import SpanF1, has_ends, kinds_of
from seqloom.evaluation.ter import Ter
from seqloom.settings import UserError
from seqloom.settings.words import nearest

TextMetric = Literal[
    "bleu",
    "chrf",
    "chrf++",
    "ter",
    "gleu",
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    "wer",
    "per",
    "cer",
    "ser",
    "exact",
]
LabelMetric = Literal["accuracy", "f1-macro", "f1-micro", "span-f1", "span-f1-strict"]
RateMetric = Literal["perplexity", "bpc", "pseudo-perplexity"]
SeriesMetric = Literal["mse", "mae", "mase", "crps"]
MetricName = TextMetric | LabelMetric | RateMetric | SeriesMetric | RollingMetric

TEXT: tuple[TextMetric, ...] = get_args(TextMetric)
LABEL: tuple[LabelMetric, ...] = get_args(LabelMetric)
RATE: tuple[RateMetric, ...] = get_args(RateMetric)
SERIES: tuple[SeriesMetric, ...] = get_args(SeriesMetric)


def text_metric(name: TextMetric, settings: EvaluationSettings) -> Metric[str]:
    """Of texts; several references are allowed. BLEU's tokenizer: `scripts.settled` chooses it; 13a else."""
    lowercase = settings.lowercase
    match name:
        case "bleu":
            return bleu(settings)
        case "gleu":
            return Gleu(bleu(settings).tokenize, lowercase)
        case "chrf":
            return Chrf(0, lowercase)
        case "chrf++":
            return Chrf(2, lowercase)
        case "ter":
            return Ter()
        case "rouge1":
            return Rouge("1", settings.rouge.stemmed, settings.rouge.tokens)
        case "rouge2":
            return Rouge("2", settings.rouge.stemmed, settings.rouge.tokens)
        case "rougeL":
            return Rouge("L", settings.rouge.stemmed, settings.rouge.tokens)
        case "rougeLsum":
            return Rouge("Lsum", settings.rouge.stemmed, settings.rouge.tokens)
        case "wer":
            return ErrorRate("word", lowercase)
        case "per":
            return ErrorRate("phoneme", lowercase)
        case "cer":
            return ErrorRate("character", lowercase)
        case "ser":
            return SequenceErrorRate(lowercase)
        case "exact":
            return ExactMatch(lowercase)
        case _:
            assert_never(name)


def bleu(settings: EvaluationSettings) -> Bleu:
    tokenize = settings.bleu.tokenize
    return Bleu("13a" if tokenize == "auto" else tokenize, settings.lowercase)


def label_metric(name: LabelMetric, references: Iterable[Labels], hypotheses: Iterable[Labels]) -> Metric[Labels]:
    """Of labels, one reference an example. hypotheses: of all systems that are compared."""
    wanted = {label for labels in references for label in labels}
    both = wanted.union(label for labels in hypotheses for label in labels)
    match name:
        case "accuracy":
            return Accuracy()
        case "f1-macro":
            return LabelF1(both, "macro")
        case "f1-micro":
            return LabelF1(both, "micro")
        case "span-f1":
            return SpanF1(kinds_of(both))
        case "span-f1-strict":
            return SpanF1(kinds_of(both), strict=True, ends=has_ends(wanted))
        case _:
            assert_never(name)


def rate_metric(name: RateMetric) -> Metric[float]:
    """Of log-probabilities."""
    match name:
        case "perplexity":
            return Perplexity()
        case "bpc":
            return BitsPerCharacter()
        case "pseudo-perplexity":
            return PseudoPerplexity()
        case _:
            assert_never(name)


def series_metric(
    name: SeriesMetric, settings: EvaluationSettings, levels: Sequence[float] | None = None
) -> Metric[ArrayLike]:
    """Of series of numbers. levels: of the quantiles that CRPS is counted by; None: by samples."""
    match name:
        case "mse":
            return SquaredError()
        case "mae":
            return AbsoluteError()
        case "mase":
            return ScaledError(settings.season)
        case "crps":
            return Crps(levels)
        case _:
            assert_never(name)


def named(names: Iterable[str], allowed: Iterable[Any], what: str) -> list[Any]:
    """The names, each known, also several with commas; `what` they are metrics of, for the message."""
    known, result = tuple(allowed), list[Any]()
    for name in (part.strip() for words in names for part in words.split(",")):
        plain = {each.lower(): each for each in known}
        if name.lower() not in plain:
            near = nearest(name, known)
            remedy = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
            raise UserError(f"--metrics {name}: no metric of {what}; {remedy}")
        result.append(plain[name.lower()])
    return list(dict.fromkeys(result))
