"""A report as tables: the same cells for a terminal, a pipe, Markdown and LaTeX."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from seqloom.evaluation.confusion import Confusion
from seqloom.evaluation.interval import LEVEL
from seqloom.evaluation.metric import Metric
from seqloom.evaluation.report import Measured, Report, SliceScore
from seqloom.jobs.table import Table
from seqloom.settings.words import counted
from seqloom.text.display import in_line

FLOOR = 0.0001  # smaller p-values are not told apart
PLAIN = 0.1, 1e6  # sizes between which digits behind the point tell enough; below the first, of metrics of any scale
NONE = "–"
P_RANDOMISATION, P_BOOTSTRAP = "p (randomisation, two-sided)", "p (bootstrap, one-sided)"
MATRIX = 12  # labels that a whole table of confusions has at most; of more only the most frequent confusions are shown
CONFUSIONS = 15
KINDS = 30  # labels that are shown at most: those that are wanted most


def tables(report: Report, confusions: Sequence[tuple[str, Confusion]] = ()) -> list[Table]:
    """confusions: of systems that name labels."""
    several = len(report.systems) > 1
    found = [_compared(report) if several else _scores(report), *_slices(report), *_kinds(report)]
    found += [_confusion(system, each) for system, each in confusions]
    return [table for table in found if table.rows]


def number(metric: Metric[object], value: float, sign: Literal["", "+"] = "") -> str:
    """sign: +: also before what is above 0."""
    small = metric.any_scale and 0 < abs(value) < PLAIN[0]
    if small or abs(value) >= PLAIN[1]:  # such as the perplexity of what has learnt nothing
        return f"{value:{sign}.{metric.digits}g}"
    return f"{value:{sign}.{metric.digits}f}"


def titled(metric: Metric[object]) -> str:
    """With an arrow where less is better."""
    return metric.title if metric.higher_is_better else f"{metric.title} ↓"


def probability(p: float, draws: int) -> str:
    """Of a test with so many draws, which knows nothing of what is rarer than one of them."""
    if p > 1 / (draws + 1):
        return f"{p:.4f}" if p >= FLOOR else f"<{FLOOR}"
    least = -(-round(1 / FLOOR) // draws) * FLOOR  # rounded up
    return "<" + f"{least:.4f}".rstrip("0")


def _scores(report: Report) -> Table:
    rows = tuple((titled(each.metric), number(each.metric, each.score), _interval(each)) for each in report.measured)
    examples = counted(report.examples, *report.unit)
    return Table(f"{report.systems[0]}: {examples}", ("metric", "score", _level()), rows)


def _compared(report: Report) -> Table:
    rows = []
    for each in report.measured:
        row = (titled(each.metric), each.system, number(each.metric, each.score), _interval(each))
        with_ = each.comparison
        if with_ is None:
            none = "" if each.system == report.systems[0] else NONE
            rows.append((*row, none, "", none, none))
        else:
            difference = number(each.metric, with_.difference, "+")
            settings = report.settings
            ps = (
                probability(with_.randomisation, settings.trials),
                probability(with_.bootstrap, settings.resamples),
            )
            rows.append((*row, difference, with_.mark, *ps))
    head = ("metric", "system", "score", _level(), "difference", "", P_RANDOMISATION, P_BOOTSTRAP)
    return Table(
        f"{counted(report.examples, *report.unit)}; differences from {report.systems[0]}", head, tuple(rows), 2
    )


def _level() -> str:
    return f"{LEVEL:.0%} interval".replace("%", " %")


def _interval(each: Measured) -> str:
    return f"{number(each.metric, each.interval.low)} – {number(each.metric, each.interval.high)}"


def shown_slices(report: Report) -> tuple[SliceScore, ...]:
    """Of several systems those by the first metric."""
    first = report.measured[0].metric
    return tuple(score for score in report.slices if len(report.systems) == 1 or score.metric is first)


def slice_cell(score: SliceScore) -> str:
    return NONE if score.score is None else number(score.metric, score.score)


def _slices(report: Report) -> Iterator[Table]:
    """A table a kind of slice: all metrics of one system, or all systems by the first metric."""
    several = len(report.systems) > 1
    first = report.measured[0].metric
    for by, scores in groupby(shown_slices(report), lambda score: score.slice.by):
        wanted = list(scores)
        columns = list(report.systems) if several else [titled(score.metric) for score in _first_slice(wanted)]
        rows = []
        for _, of_slice in groupby(wanted, lambda score: score.slice.name):
            each = list(of_slice)
            found = {score.system: slice_cell(score) for score in each}
            cells = [found.get(system, NONE) for system in report.systems]
            if not several:
                cells = list(map(slice_cell, each))
            rows.append((in_line(each[0].slice.name), f"{len(each[0].slice.rows):,}", *cells))
        title = f"by {by}" + (f": {titled(first)}" if several else "")
        yield Table(title, (by, "examples", *columns), tuple(rows))


def _first_slice(scores: Sequence[SliceScore]) -> list[SliceScore]:
    return [score for score in scores if score.slice is scores[0].slice]


def _kinds(report: Report) -> Iterator[Table]:
    for (system, metric), group in groupby(report.kinds, lambda each: each[:2]):
        kinds = sorted((kind for _, _, kind in group), key=lambda kind: -kind.wanted)
        rows = tuple(
            (in_line(kind.kind), f"{kind.wanted:,}", f"{kind.precision:.2f}", f"{kind.recall:.2f}", f"{kind.f1:.2f}")
            for kind in kinds[:KINDS]
        )
        more = f", the {KINDS} most frequent of {len(kinds):,}" if len(kinds) > KINDS else ""
        yield Table(f"{system}: {metric} by label{more}", ("label", "wanted", "precision", "recall", "F1"), rows)


def _confusion(system: str, found: Confusion) -> Table:
    """Rows are what was wanted, columns what was said; of many labels the most frequent mistakes."""
    names = found.names
    if len(names) <= MATRIX:
        rows = tuple((in_line(wanted), *(f"{found.counts[wanted, said] or ''}" for said in names)) for wanted in names)
        return Table(f"{system}: wanted (rows) and said (columns)", ("", *map(in_line, names)), rows)
    wrong = found.wrong()
    each = tuple((in_line(wanted), in_line(said), f"{count:,}") for wanted, said, count in wrong[:CONFUSIONS])
    return Table(f"{system}: the most frequent mistakes", ("wanted", "said", "times"), each)
