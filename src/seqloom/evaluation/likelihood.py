"""How well a model foretells texts: perplexity, of masked models pseudo-perplexity, and bits per character."""

import math
from collections.abc import Sequence

import numpy as np

from seqloom import __version__
from seqloom.evaluation.metric import Metric, Scores, Statistics, only, ratio


class _Rate(Metric[float]):
    """Nats of each example over how much there was to foretell.

    hypotheses: the log-probability of each example; references: its number of tokens, or of characters.
    """

    higher_is_better = False
    unit: str

    def statistics(self, hypotheses: Sequence[float], references: Sequence[Sequence[float]]) -> Statistics:
        return np.stack([-np.asarray(hypotheses, float), np.asarray(only(references, self.name), float)], -1)

    def signature(self, references: int = 1) -> str:
        return f"unit:{self.unit}|version:seqloom-{__version__}"


class Perplexity(_Rate):
    """e to the nats per token. Only models with the same tokens can be compared."""

    name, title, unit = "perplexity", "perplexity", "token"
    any_scale = True  # of a model that diverged it has hundreds of digits

    def score(self, total_D: Statistics) -> Scores:
        return np.exp(np.minimum(ratio(total_D[..., 0], total_D[..., 1]), 700.0))


class PseudoPerplexity(Perplexity):
    """Of each token, given those on both sides of it (Salazar et al. 2020): no perplexity compares with it."""

    name, title = "pseudo-perplexity", "pseudo-perplexity"


class BitsPerCharacter(_Rate):
    """Comparable between models with other tokens, if the text is the same and their tokens can write all of it."""

    name, title, unit, digits = "bpc", "bits/char", "character", 4

    def score(self, total_D: Statistics) -> Scores:
        return ratio(total_D[..., 0], total_D[..., 1]) / math.log(2)
