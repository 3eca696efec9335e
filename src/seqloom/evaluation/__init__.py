"""Scores with signatures, intervals and significance."""

from seqloom.evaluation.bleu import Bleu
from seqloom.evaluation.chrf import Chrf
from seqloom.evaluation.error_rate import ErrorRate
from seqloom.evaluation.exact_match import ExactMatch
from seqloom.evaluation.gleu import Gleu
from seqloom.evaluation.interval import Interval, interval
from seqloom.evaluation.labels import Accuracy, LabelF1
from seqloom.evaluation.likelihood import BitsPerCharacter, Perplexity
from seqloom.evaluation.metric import Metric, total
from seqloom.evaluation.rouge import Rouge
from seqloom.evaluation.series import AbsoluteError, Crps, ScaledError, SquaredError
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.significance import Comparison, compared
from seqloom.evaluation.spans import SpanF1
from seqloom.evaluation.ter import Ter

__all__ = [
    "AbsoluteError",
    "Accuracy",
    "BitsPerCharacter",
    "Bleu",
    "Chrf",
    "Comparison",
    "Crps",
    "ErrorRate",
    "EvaluationSettings",
    "ExactMatch",
    "Gleu",
    "Interval",
    "LabelF1",
    "Metric",
    "Perplexity",
    "Rouge",
    "ScaledError",
    "SpanF1",
    "SquaredError",
    "Ter",
    "compared",
    "interval",
    "total",
]
