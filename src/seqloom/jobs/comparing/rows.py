"""From what systems came to, to the rows of a table and the report behind it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from seqloom.evaluation.build import MetricName
from seqloom.evaluation.report import Report
from seqloom.jobs.comparing.command import BEST
from seqloom.jobs.comparing.compared import Row
from seqloom.jobs.comparing.result import Facts, Result
from seqloom.jobs.comparing.system import System
from seqloom.jobs.comparing.work import Outcome
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.jobs.evaluating.runs import together


def row_of(system: System, result: Outcome) -> Row:
    row = Row(
        system.name,
        trained=system.command is not None,
        source=system.recipe.source,
        published=system.recipe.target,
    )
    return replace(row, failed=result) if isinstance(result, str) else replace(row, facts=result.facts)


def ensemble_row(name: str, members: tuple[str, ...], result: Outcome, rows: Sequence[Row]) -> Row:
    if isinstance(result, str):
        return Row(name, failed=result, trained=False, members=members)
    facts = [row.facts for row in rows if row.name in members and row.facts is not None]
    return Row(name, Facts.together(facts), trained=False, members=members)


def of_same_examples(rows: Sequence[Row], results: Mapping[str, Outcome]) -> list[Row]:
    """A score of other examples is not comparable: recipes may hold out other ones, or read them otherwise."""
    first: tuple[str, Result] | None = None
    found = []
    for row in rows:
        result = results[row.name]
        if isinstance(result, Result):
            first = first or (row.name, result)
            if result.columns != first[1].columns:
                counts = [len(one.columns[0]) for one in (result, first[1])]
                why = f"was scored on other examples than {first[0]} ({counts[0]:,}, not {counts[1]:,})"
                row = replace(row, failed=f"{why}: name a --test FILE, or set [data] alike")
        found.append(row)
    return found


def metrics_of(
    results: Mapping[str, Result], bits_first: bool = False, left_out: Collection[MetricName] = ()
) -> list[MetricName]:
    """Where none are asked for: those of the first, or of one that writes words where others write characters.

    bits_first: perplexities of these systems say nothing about each other. left_out: what these do not.
    """
    every = [[name for name in result.metrics if name not in left_out] for result in results.values()]
    names = next((names for names in every if "bleu" in names), every[0])
    return ["bpc", *(name for name in names if name != "bpc")] if bits_first and names[0] == "perplexity" else names


def evaluated(results: Mapping[str, Result], names: Sequence[MetricName]) -> Evaluated:
    first = next(iter(results.values()))
    parts = [result.said for result in results.values()]
    found = together(tuple(results), first.columns, parts, names, first.shape, first.unknown)
    return found if first.sizes is None else replace(found, sizes=first.sizes)


def baseline(wanted: str | None, report: Report) -> str:
    """The first, the one that was named, or the best by the first metric."""
    if wanted == BEST:
        metric = report.measured[0].metric
        scores = {each.system: each.score for each in report.measured if each.metric is metric}
        return max(scores, key=lambda name: scores[name] if metric.higher_is_better else -scores[name])
    return wanted if wanted is not None and wanted in report.systems else report.systems[0]
