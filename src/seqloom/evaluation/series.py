"""Errors of forecast series: squared, absolute, scaled, and of whole distributions."""

# S samples or levels of quantiles; the rest of the dimensions is one series: its steps, and perhaps its channels

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom import __version__
from seqloom.evaluation.metric import Metric, Scores, Statistics, only, ratio

Values = NDArray[np.float64]


class _Mean(Metric[ArrayLike]):
    """The mean over all values; a reference that is no number (NaN) is missing, and not counted."""

    higher_is_better = False
    digits = 4
    any_scale = True

    def statistics(self, hypotheses: Sequence[ArrayLike], references: Sequence[Sequence[ArrayLike]]) -> Statistics:
        goals = only(references, self.name)
        rows = []
        for one, goal in zip(hypotheses, goals, strict=True):
            wanted = np.asarray(goal, float)
            rows.append(_sum(self.errors(np.asarray(one, float), wanted), ~np.isnan(wanted)))
        return np.array(rows).reshape(len(rows), 2)

    def errors(self, said: Values, wanted: Values) -> Values:
        """Of each value of a series."""
        raise NotImplementedError

    def score(self, total_D: Statistics) -> Scores:
        return ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        return f"version:seqloom-{__version__}"


class SquaredError(_Mean):
    name, title = "mse", "MSE"

    def errors(self, said: Values, wanted: Values) -> Values:
        return (_alike(said, wanted) - wanted) ** 2


class AbsoluteError(_Mean):
    name, title = "mae", "MAE"

    def errors(self, said: Values, wanted: Values) -> Values:
        return np.abs(_alike(said, wanted) - wanted)


class ScaledError(Metric[ArrayLike]):
    """MASE (Hyndman & Koehler 2006): the absolute error over that of the forecast "as one season ago" on the past.

    references: the series, and the past of each, steps first. A past that never changes has no scale: its series is
    not counted.
    """

    name, title, higher_is_better, digits = "mase", "MASE", False, 4
    any_scale = True

    def __init__(self, season: int = 1) -> None:
        self.season = season

    def statistics(self, hypotheses: Sequence[ArrayLike], references: Sequence[Sequence[ArrayLike]]) -> Statistics:
        goals, pasts = references
        rows = []
        for one, goal, past in zip(hypotheses, goals, pasts, strict=True):
            said, wanted, before = (np.asarray(each, float) for each in (one, goal, past))
            if len(before) <= self.season:
                raise ValueError(f"a past of {len(before)} steps has no season of {self.season} before its last")
            scale = np.abs(before[self.season :] - before[: -self.season]).mean(0)
            errors = np.abs(_alike(said, wanted) - wanted) / np.where(scale > 0, scale, 1.0)
            rows.append(_sum(errors, ~np.isnan(wanted) & (scale > 0)))
        return np.array(rows).reshape(len(rows), 2)

    def score(self, total_D: Statistics) -> Scores:
        return ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        return f"season:{self.season}|version:seqloom-{__version__}"


class Crps(_Mean):
    """The continuous ranked probability score (Gneiting & Raftery 2007, eq. 20 and 21) of a forecast distribution.

    An answer is samples of the distribution, samples first; or, if levels are given, its quantiles, levels first. From
    samples it is the score of their empirical distribution: E|X - y| - E|X - X'| / 2 with each sample also paired
    with itself. From quantiles it is twice the mean pinball loss, which nears the integral as levels fill (0, 1).
    """

    name, title = "crps", "CRPS"

    def __init__(self, levels: Sequence[float] | None = None) -> None:
        self.levels = None if levels is None else np.asarray(levels, float)

    def errors(self, said: Values, wanted: Values) -> Values:
        if said.shape[1:] != wanted.shape:
            raise ValueError(f"samples or quantiles of {said.shape[1:]} values, but a reference of {wanted.shape}")
        beyond = wanted - said
        if self.levels is None:
            ordered, count = np.sort(said, axis=0), len(said)
            # sum over pairs of |x - x'|, by the place of each in the order
            weights = (2 * np.arange(1, count + 1) - count - 1).reshape(-1, *[1] * wanted.ndim)
            return np.abs(beyond).mean(0) - (weights * ordered).sum(0) / count**2
        levels = self.levels.reshape(-1, *[1] * wanted.ndim)
        return 2 * np.maximum(levels * beyond, (levels - 1) * beyond).mean(0)

    def signature(self, references: int = 1) -> str:
        by = "samples" if self.levels is None else f"{len(self.levels)} quantiles"
        return f"by:{by}|version:seqloom-{__version__}"


def _alike(said: Values, wanted: Values) -> Values:
    if said.shape != wanted.shape:
        raise ValueError(f"a forecast of {said.shape} values, but a reference of {wanted.shape}")
    return said


def _sum(errors: Values, there: NDArray[np.bool_]) -> tuple[float, int]:
    """Over the values that count. A forecast that is no number stays one, and so does the score."""
    return float(errors[there].sum()), int(there.sum())
