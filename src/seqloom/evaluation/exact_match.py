"""How often an answer is the reference, to the letter; and how often it is not."""

from collections.abc import Sequence

import numpy as np

from seqloom import __version__
from seqloom.evaluation.metric import Metric, Scores, Statistics, ratio


class ExactMatch(Metric[str]):
    """In percent. Of several references any will do."""

    name, title = "exact", "exact"

    def __init__(self, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        lower = str.lower if self.lowercase else str
        right = np.zeros(len(hypotheses), np.int64)
        for texts in references:
            right |= [lower(one) == lower(other) for one, other in zip(hypotheses, texts, strict=True)]
        return np.stack([right, np.ones_like(right)], -1)

    def score(self, total_D: Statistics) -> Scores:
        return 100 * ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        return f"nrefs:{references}|case:{'lc' if self.lowercase else 'mixed'}|version:seqloom-{__version__}"


class SequenceErrorRate(ExactMatch):
    """The share of answers that are not the reference, in percent: sentences in speech recognition (SER); words in
    grapheme-to-phoneme conversion, where SIGMORPHON's tasks call it the word error rate.
    """

    name, title, higher_is_better = "ser", "SER", False

    def score(self, total_D: Statistics) -> Scores:
        return 100 - super().score(total_D)
