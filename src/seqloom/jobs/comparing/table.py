"""A comparison as tables, as papers have them: text, Markdown, LaTeX, JSON."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Literal, assert_never

from rich.console import Console

from seqloom.evaluation.interval import LEVEL
from seqloom.evaluation.metric import Metric
from seqloom.evaluation.report import Measured, Report, SliceScore
from seqloom.jobs.comparing.compared import Compared, Row, began_late, otherwise, spent
from seqloom.jobs.comparing.result import Facts
from seqloom.jobs.comparing.speed import UNITS
from seqloom.jobs.deciding.asked import Budget
from seqloom.jobs.drawn_table import draw
from seqloom.jobs.evaluating.score_page import below
from seqloom.jobs.evaluating.score_table import NONE, number, probability, slice_cell, titled
from seqloom.jobs.lines.json_line import json_text
from seqloom.jobs.recipes.published import Result
from seqloom.jobs.table import Table, latex, markdown, plain
from seqloom.settings.words import counted
from seqloom.training.figures import count, duration, memory

Form = Literal["text", "markdown", "latex", "json"]
PUBLISHED = "†"
BEFORE, BEHIND = ("parameters", "FLOPs", "time"), ("memory",)  # the speed
COSTS = len(BEFORE) + 1 + len(BEHIND)


def text(compared: Compared, form: Form) -> str:
    """All of it, with a line feed at the end."""
    if form == "json":
        return json_text(compared.record(), indent=1)
    parts, notes = tables(compared), list(told(compared))
    match form:
        case "text":
            return "\n\n".join([*("\n".join(plain(table)) for table in parts), "\n".join(notes)]) + "\n"
        case "markdown":
            lines = "\n".join(f"- {line}" for line in notes)
            return "\n\n".join([*("\n".join(markdown(table)) for table in parts), lines]) + "\n"
        case "latex":
            lines = "\n".join(f"% {line}" for line in notes)
            return "\n\n".join([*("\n".join(latex(table)) for table in parts), lines]) + "\n"
        case _:
            assert_never(form)


def show(compared: Compared, console: Console) -> None:
    """The text, with tables as a terminal can draw them."""
    for table in tables(compared):
        draw(table, console)
    console.print("\n".join(told(compared)), markup=False, highlight=False, soft_wrap=True)


def tables(compared: Compared) -> list[Table]:
    return [_main(compared), *(_slices(compared, compared.report) if compared.report is not None else ())]


# -- the table


def _main(compared: Compared) -> Table:
    metrics = _metrics(compared)
    head = ["system"]
    for at, metric in enumerate(metrics):
        head += [titled(metric)] + ([] if at else [f"{LEVEL:.0%} interval".replace("%", " %"), "difference", "p"])
    rows = [_row(row, compared, metrics) for row in compared.rows]
    rows += [_published(row, result, metrics) for row in compared.rows for result in row.published.results]
    return Table(_title(compared), (*head, *BEFORE, UNITS[compared.shape][0], *BEHIND), tuple(rows))


def _title(compared: Compared) -> str:
    parts = [] if compared.budget is None else [_trained(compared, compared.budget)]
    if compared.report is not None:
        parts.append(counted(compared.report.examples, *compared.report.unit))
        several = len(compared.report.systems) > 1
        parts += [f"differences from {compared.report.systems[0]}"] if several else []
    return "; ".join(parts)


def _trained(compared: Compared, budget: Budget) -> str:
    """At which cost: who had another is named, unless nobody had it."""
    trained = [row for row in compared.rows if row.trained]
    others = [row.name for row in trained if otherwise(row, budget)]
    each = "each " if len(trained) > 1 else ""
    if others and len(others) == sum(not row.failed for row in trained):
        return f"{each}meant to be trained for {spent(budget)} (see below)"
    start = ", its start included" if any(began_late(row, budget) for row in trained) else ""
    but = f", but not {', '.join(others)} (see below)" if others else ""
    return f"{each}trained for {spent(budget)}{start}{but}"


def _metrics(compared: Compared) -> list[Metric[object]]:
    """Bits per character say what perplexities say; they are needed where vocabularies differ."""
    if compared.report is None:
        return []
    every = list({each.metric.name: each.metric for each in compared.report.measured}.values())
    rates = any(metric.name == "perplexity" for metric in every)
    return [metric for metric in every if metric.name != "bpc" or compared.own_vocabularies or not rates]


def _row(row: Row, compared: Compared, metrics: list[Metric[object]]) -> tuple[str, ...]:
    if row.failed:
        width = 3 * bool(metrics) + len(metrics) + COSTS
        return (row.name, "failed", *[NONE] * (width - 1))
    cells = [row.name]
    measured = {each.metric.name: each for each in compared.measured(row.name)}
    for at, metric in enumerate(metrics):
        each = measured.get(metric.name)
        cells += [NONE if each is None else number(metric, each.score)] + ([] if at else _sure(each, compared))
    assert row.facts is not None
    return (*cells, *_costs(row.facts))


def _sure(each: Measured | None, compared: Compared) -> list[str]:
    assert compared.report is not None
    if each is None:
        return [NONE] * 3
    interval = f"{number(each.metric, each.interval.low)} – {number(each.metric, each.interval.high)}"
    if each.comparison is None:
        none = "" if each.system == compared.report.systems[0] else NONE
        return [interval, none, none]
    difference = f"{number(each.metric, each.comparison.difference, '+')} {each.comparison.mark}".strip()
    return [interval, difference, probability(each.comparison.randomisation, compared.report.settings.trials)]


def _costs(facts: Facts) -> tuple[str, ...]:
    return (
        count(facts.parameters),
        NONE if facts.flops is None else flops(facts.flops),
        NONE if facts.seconds is None else duration(facts.seconds),
        NONE if facts.per_second is None else count(facts.per_second),
        NONE if facts.memory is None else memory(facts.memory),
    )


def flops(value: float) -> str:
    """`3.3e18`."""
    mantissa, _, power = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(power)}"


def _published(row: Row, result: Result, metrics: list[Metric[object]]) -> tuple[str, ...]:
    """In the column of its metric; where there is none, in the first, with the metric's name."""
    score, mine = f"{result.score:g}", [metric.name == result.metric for metric in metrics]
    cells = [f"{row.name} {PUBLISHED} {row.published.named(result)}"]
    for at, same in enumerate(mine):
        stray = not at and not any(mine)
        cells += [score if same else f"{result.metric} {score}" if stray else NONE] + ([] if at else [NONE] * 3)
    size, cost = row.published.parameters, row.published.spent(result)
    size_cell, cost_cell = NONE if size is None else count(size), NONE if cost is None else flops(cost)
    return (*cells, size_cell, cost_cell, NONE, NONE, NONE)


# -- by length, and by what else examples differ in


def _sliced(report: Report) -> tuple[SliceScore, ...]:
    first = report.measured[0].metric
    return tuple(score for score in report.slices if score.metric is first)


def _slices(compared: Compared, report: Report) -> Iterator[Table]:
    """By the first metric: a row a system, a column a slice."""
    first = report.measured[0].metric
    for by, group in groupby(_sliced(report), lambda score: score.slice.by):
        scores = list(group)
        parts = list({score.slice.name: score.slice for score in scores}.values())
        found = {(score.system, score.slice.name): slice_cell(score) for score in scores}
        rows = [
            (row.name, *(found.get((row.name, part.name), NONE) for part in parts))
            for row in compared.rows
            if not row.failed
        ]
        sizes = ("examples", *(f"{len(part.rows):,}" for part in parts))
        yield Table(f"{titled(first)} by {by}", ("system", *(part.name for part in parts)), (*rows, sizes))


# -- what a reader must know


def _steps(compared: Compared) -> Iterator[str]:
    """Whose best model came early learnt by heart from there on, or was not given the end of its schedule."""
    each = [(row.name, row.facts) for row in compared.rows if row.facts is not None and row.facts.steps]
    if each:
        best = (
            f"{name} {facts.steps:,}" + ("" if facts.best_step is None else f" ({facts.best_step:,})")
            for name, facts in each
        )
        chosen = any(facts.best_step is not None for _, facts in each)
        yield f"steps{' (of the model that validation chose)' if chosen else ''}: {', '.join(best)}"


def told(compared: Compared) -> Iterator[str]:
    """A line each, as each is a comment or an item of a list: what recipes say of themselves may take several."""
    return (" ".join(line.splitlines()) for line in _told(compared))


def _told(compared: Compared) -> Iterator[str]:
    for row in compared.failed:
        yield f"{row.name} failed: {_in_one_line(row.failed)}"
    yield f"scored on {compared.test}" + (f"; trained on {compared.device}" if compared.device else "")
    for row in compared.rows:
        if row.members and not row.failed:
            yield f"{row.name}: {', '.join(row.members)} write together; its FLOPs and time are theirs, added up"
        if not (row.trained or row.members or row.failed):
            yield f"{row.name}: a run that was trained before, at a cost of its own"
        other = otherwise(row, compared.budget) or began_late(row, compared.budget)
        if other is not None:
            yield f"{row.name}: {other}"
    yield from _steps(compared)
    yield (
        "FLOPs: of all training steps, two for each multiply-add of the matrix products, forward and backward, at the "
        "mean length; padding is not counted, though it takes time"
    )
    unit, counts = UNITS[compared.shape]
    own = ", each system's own" if compared.own_vocabularies and "tokens" in unit else ""
    yield (
        f"time: of training, validations included, reading the data not; {unit}: {counts}{own}, without the time of "
        "validations; memory: the most in training, on a GPU of tensors, elsewhere of the whole process"
    )
    if compared.own_vocabularies and any(metric.name == "perplexity" for metric in _metrics(compared)):
        bits = "; bits per character are" if any(metric.name == "bpc" for metric in _metrics(compared)) else ""
        yield f"perplexity is per token, and the systems' vocabularies differ, so that it is not compared{bits}"
    for row in compared.rows:
        if row.published.results:
            notes = dict.fromkeys(result.note for result in row.published.results)
            about = "; ".join(filter(None, [row.source, *notes]))
            yield f"{PUBLISHED} published, not measured: {row.name}" + (f" ({about})" if about else "")
    yield from compared.notes
    yield from below(_of_shown(compared, compared.report)) if compared.report is not None else ()


def _of_shown(compared: Compared, report: Report) -> Report:
    """With what is said of metrics that a table shows, and of no others."""
    slices = _sliced(report)
    titles = {metric.title for metric in (*_metrics(compared), *(part.metric for part in slices))}
    kept = tuple(each for each in report.signatures if each[0] in titles)
    return replace(report, signatures=kept, slices=slices)


def _in_one_line(text: str) -> str:
    first, *others = text.splitlines()
    for line in others:
        first += f"{'' if first.endswith(('.', ':', ';')) else ';'} {line}"
    return first
