"""Systems side by side: their scores with intervals, against the first of them, by slices."""

# N examples  D statistics  R resamples

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.examples import extremes
from seqloom.evaluation.interval import Interval, percentiles, resampled
from seqloom.evaluation.labels import Counted, OfKind
from seqloom.evaluation.metric import Metric, Statistics, total
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.significance import Comparison, comparison
from seqloom.evaluation.slices import Slice

Told = Callable[[float], None]
"""hears how much of the work was done since it heard last, of 1"""


@dataclass(frozen=True)
class Counts:
    """A metric, with the statistics of each system; None: it has no such score."""

    metric: Metric[Any]
    stats: tuple[Statistics | None, ...]
    units: tuple[str, ...] = ()
    """what each system's score counts in: others are not compared; none: all in the same"""
    right: tuple[NDArray[np.bool_], ...] = ()
    """which answers of each system are as a reference; none: the score is not of answers"""

    def comparable(self, number: int) -> bool:
        """Whether a system can be compared with the first."""
        both = self.stats[0] is not None and self.stats[number] is not None
        return both and (not self.units or self.units[0] == self.units[number])

    def known(self) -> list[tuple[int, Statistics]]:
        """Of the systems that have the score: their numbers and statistics."""
        return [(number, stats_ND) for number, stats_ND in enumerate(self.stats) if stats_ND is not None]


@dataclass(frozen=True)
class Measured:
    """A metric of a system; comparison: with the first system, if this is another that can be compared."""

    system: str
    metric: Metric[Any]
    score: float
    interval: Interval
    comparison: Comparison | None


@dataclass(frozen=True)
class SliceScore:
    """score: None: these examples can have none."""

    slice: Slice
    system: str
    metric: Metric[Any]
    score: float | None


@dataclass(frozen=True)
class Shown:
    """An example that a system does badly, or well."""

    system: str
    metric: Metric[Any]
    worst: bool
    row: int
    score: float


@dataclass(frozen=True)
class Report:
    systems: tuple[str, ...]
    examples: int
    references: int
    measured: tuple[Measured, ...]
    """metric by metric, system by system; a system may be without a metric"""
    slices: tuple[SliceScore, ...]
    shown: tuple[Shown, ...]
    kinds: tuple[tuple[str, str, OfKind], ...]
    """how each label comes out: the system, the metric's title, the label"""
    signatures: tuple[tuple[str, str], ...]
    """the metric's title, and how it was counted"""
    settings: EvaluationSettings
    unit: tuple[str, str] = ("example", "examples")
    """what is counted together: one, and several"""


def report(
    systems: Sequence[str],
    counts: Sequence[Counts],
    settings: EvaluationSettings,
    references: int = 1,
    slices: Sequence[Slice] = (),
    examples: int = 0,
    told: Told = lambda share: None,
) -> Report:
    """Each metric is that of one system at least. examples: so many of the worst and the best are found for each."""
    signatures = {count.metric.title: count.metric.signature(references) for count in counts}
    return Report(
        tuple(systems),
        len(counts[0].known()[0][1]),
        references,
        tuple(_measured(systems, counts, settings, told)),
        tuple(_sliced(systems, counts, slices)),
        tuple(_shown(systems, _graded(counts), examples)) if examples else (),
        tuple(_kinds(systems, counts)),
        tuple(signatures.items()),
        settings,
    )


def _measured(
    systems: Sequence[str], counts: Sequence[Counts], settings: EvaluationSettings, told: Told
) -> list[Measured]:
    others = sum(count.comparable(number) for count in counts for number in range(1, len(systems)))
    work = settings.resamples + others * settings.trials
    sums = iter(
        resampled(
            [stats_ND for count in counts for _, stats_ND in count.known()],
            settings.resamples,
            settings.seed,
            lambda done: told(done / work),
        )
    )
    found = []
    for count in counts:
        pairs = {number: (stats_ND, next(sums)) for number, stats_ND in count.known()}
        for number, pair in pairs.items():
            compared = None
            if number and count.comparable(number):
                compared = comparison(
                    count.metric, pair, pairs[0], settings.trials, settings.seed, lambda done: told(done / work)
                )
            score = float(count.metric.score(total(pair[0])))
            interval = percentiles(count.metric.score(pair[1]))
            found.append(Measured(systems[number], count.metric, score, interval, compared))
    return found


def _sliced(systems: Sequence[str], counts: Sequence[Counts], slices: Sequence[Slice]) -> list[SliceScore]:
    return [
        SliceScore(part, systems[number], count.metric, float(count.metric.score(total(stats_ND[part.rows]))))
        for part in slices
        for count in counts
        for number, stats_ND in count.known()
    ]


def _graded(counts: Sequence[Counts]) -> Counts:
    """The first metric that knows more than right and wrong, if there is one."""
    return next((count for count in counts if len(np.unique(count.metric.each(count.known()[0][1]))) > 2), counts[0])


def _shown(systems: Sequence[str], count: Counts, examples: int) -> list[Shown]:
    found = []
    for number, stats_ND in count.known():
        system = systems[number]
        worst, best = extremes(count.metric, stats_ND, examples, count.right[number] if count.right else None)
        found += [Shown(system, count.metric, True, each.row, each.score) for each in worst]
        found += [Shown(system, count.metric, False, each.row, each.score) for each in best]
    return found


def _kinds(systems: Sequence[str], counts: Sequence[Counts]) -> list[tuple[str, str, OfKind]]:
    """Of the first metric that counts kinds: another would say the same, or nearly."""
    counted = next((count for count in counts if isinstance(count.metric, Counted)), None)
    if counted is None or not isinstance(counted.metric, Counted):
        return []
    return [
        (systems[number], counted.metric.title, kind)
        for number, stats_ND in counted.known()
        for kind in counted.metric.by_kind(total(stats_ND))
    ]
