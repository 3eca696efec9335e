"""Intervals by the bootstrap: how far a score would move with other examples of the same kind."""

# N examples  D statistics  R resamples  K resamples at once

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.metric import Metric, Scores, Statistics

CELLS = 1 << 22  # of a chunk of counts, so that memory stays within some tens of megabytes
RESAMPLES = 1000
LEVEL = 0.95

Progress = Callable[[int], None]


def silent(done: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def resampled(
    stats: Sequence[Statistics], resamples: int = RESAMPLES, seed: int = 1, progress: Progress = silent
) -> list[Statistics]:
    """The sums total_RD of each stats_ND over resamples, drawn with replacement (Efron 1979).

    All have the same examples in the same resample, so that their scores can be compared in pairs. progress is told
    of each chunk of resamples.
    """
    wide = [stats_ND.astype(float) for stats_ND in stats]
    sums: list[list[Statistics]] = [[] for _ in stats]
    for counts_KN in _counts(len(wide[0]), resamples, seed):
        for into, stats_ND in zip(sums, wide, strict=True):
            into.append(counts_KN @ stats_ND)
        progress(len(counts_KN))
    return [np.concatenate(each) for each in sums]


def _counts(examples: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each example is in each resample. The same for a seed, however many are made at once."""
    draw = np.random.default_rng(seed)
    at_once = max(1, CELLS // max(examples, 1))
    for begin in range(0, resamples, at_once):
        count = min(at_once, resamples - begin)
        drawn_KN = draw.integers(0, examples, (count, examples)) + examples * np.arange(count)[:, None]
        counts = np.bincount(drawn_KN.ravel(), minlength=count * examples)
        yield counts.reshape(count, examples).astype(float)


def percentiles(scores_R: Scores, level: float = LEVEL) -> Interval:
    """The middle of the resamples' scores that holds `level` of them."""
    low, high = np.quantile(scores_R, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def interval(
    metric: Metric[Any], stats_ND: Statistics, resamples: int = RESAMPLES, seed: int = 1, level: float = LEVEL
) -> Interval:
    """The percentile interval of a score."""
    (total_RD,) = resampled([stats_ND], resamples, seed)
    return percentiles(metric.score(total_RD), level)
