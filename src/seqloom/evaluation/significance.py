"""Whether one system is better than another, or only luckier with these examples."""

# N examples  D statistics  R resamples  K trials at once

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.interval import CELLS, RESAMPLES, Interval, Progress, percentiles, resampled, silent
from seqloom.evaluation.metric import Metric, Scores, Statistics, total

TRIALS = 10_000
SAME = 1e-9  # of the scores: differences this small are none, as sums in another order differ in the last bits
MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline."""

    difference: float
    """the system's score less the baseline's"""
    interval: Interval
    """of the difference, over resamples in pairs"""
    bootstrap: float
    """p of the paired bootstrap, one-sided; of few examples what a coin would do, at least"""
    randomisation: float
    """p of approximate randomisation, two-sided"""

    @property
    def mark(self) -> str:
        """By randomisation: * p < 0.05, ** p < 0.01, *** p < 0.001."""
        return next((mark for limit, mark in MARKS if self.randomisation < limit), "")


def compared(
    metric: Metric[Any],
    system_ND: Statistics,
    baseline_ND: Statistics,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
    seed: int = 1,
) -> Comparison:
    """Both tests, and the interval of the difference."""
    system_RD, baseline_RD = resampled([system_ND, baseline_ND], resamples, seed)
    return comparison(metric, (system_ND, system_RD), (baseline_ND, baseline_RD), trials, seed)


def comparison(
    metric: Metric[Any],
    system: tuple[Statistics, Statistics],
    baseline: tuple[Statistics, Statistics],
    trials: int = TRIALS,
    seed: int = 1,
    progress: Progress = silent,
) -> Comparison:
    """The same from what the intervals took: a system is its statistics and their resampled sums."""
    scores = [float(metric.score(total(stats_ND))) for stats_ND, _ in (system, baseline)]
    differences_R = metric.score(system[1]) - metric.score(baseline[1])
    return Comparison(
        scores[0] - scores[1],
        percentiles(differences_R),
        max(bootstrap_p(differences_R, scores[0] - scores[1], _same(*scores)), by_coin(len(system[0]))),
        randomisation_p(metric, system[0], baseline[0], trials, seed, progress),
    )


def bootstrap_p(differences_R: Scores, difference: float, same: float = 0.0) -> float:
    """Koehn 2004: the share of resamples in which the system that scores better does not; one-sided.

    One more is counted as such, as the sample itself is one of those possible. Systems that score the same: 1,
    and so do those whose scores are no numbers. same: differences up to it are none. `comparison` has a bound besides.
    """
    if not abs(difference) > same:
        return 1.0
    better = np.sign(difference) * differences_R > same
    return float((len(differences_R) - better.sum() + 1) / (len(differences_R) + 1))


def by_coin(examples: int) -> float:
    """How often a coin favours one system in all of so few examples: half of what randomisation says at the least.

    Koehn and sacreBLEU have no such bound: all resamples of one example are alike, which they take for certainty.
    """
    return 0.5**examples


def randomisation_p(
    metric: Metric[Any],
    system_ND: Statistics,
    baseline_ND: Statistics,
    trials: int = TRIALS,
    seed: int = 1,
    progress: Progress = silent,
) -> float:
    """Riezler & Maxwell 2005, figure 1: how often the difference is as large when answers change sides by a coin.

    Two-sided, one more counted. (sacreBLEU counts only larger ones: there, equal systems are "different".)
    """
    one_D, other_D = (total(stats_ND.astype(float)) for stats_ND in (system_ND, baseline_ND))
    scores = [float(metric.score(total(stats_ND))) for stats_ND in (system_ND, baseline_ND)]
    found = abs(scores[0] - scores[1]) - _same(*scores)
    change_ND = baseline_ND.astype(float) - system_ND.astype(float)
    as_large = 0
    for swapped_KN in _coins(len(system_ND), trials, seed):
        moved_KD = swapped_KN @ change_ND
        differences_K = metric.score(one_D + moved_KD) - metric.score(other_D - moved_KD)
        as_large += int((~(np.abs(differences_K) < found)).sum())  # also what is no number
        progress(len(swapped_KN))
    return (as_large + 1) / (trials + 1)


def _same(one: float, other: float) -> float:
    """What is no difference, between such scores: series may be of any scale."""
    return SAME * max(abs(one), abs(other))


def _coins(examples: int, trials: int, seed: int) -> Iterator[NDArray[np.float64]]:
    draw = np.random.default_rng(seed)
    at_once = max(1, CELLS // max(examples, 1))
    for begin in range(0, trials, at_once):
        count = min(at_once, trials - begin)
        bits = np.frombuffer(draw.bytes(count * -(-examples // 8)), np.uint8).reshape(count, -1)
        yield np.unpackbits(bits, axis=1, count=examples).astype(float)
