"""Systems side by side: what each cost, how well it does, and what was published."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from seqloom import __version__
from seqloom.data.reading import Shape
from seqloom.evaluation.interval import LEVEL
from seqloom.evaluation.report import Measured, Report
from seqloom.jobs.comparing.result import Facts
from seqloom.jobs.comparing.speed import UNITS
from seqloom.jobs.deciding.asked import Budget
from seqloom.jobs.recipes.published import Published
from seqloom.settings.words import counted
from seqloom.training.figures import duration

TOLERANCE = 0.05  # of a budget, by which the last step may overspend it
START = 0.1  # of the minutes, that what comes before the first step may take unsaid
ENDS = {"minutes": ("time",), "flops": ("FLOPs",), "epochs": ("epochs", "steps")}
"""Words of how a run ends that has spent its budget."""


@dataclass(frozen=True)
class Row:
    """A system. failed: why it has no scores. published: what its recipe says of the original."""

    name: str
    facts: Facts | None = None
    failed: str = ""
    trained: bool = True
    """here, at the same cost as the others"""
    members: tuple[str, ...] = ()
    """of an ensemble"""
    source: str = ""
    published: Published = field(default_factory=Published)


@dataclass(frozen=True)
class Compared:
    """report: of the rows that did not fail; None: all failed. device: what was trained on."""

    rows: tuple[Row, ...]
    report: Report | None
    budget: Budget | None
    test: str
    device: str
    own_vocabularies: bool
    """perplexities are not about the same tokens"""
    notes: tuple[str, ...]
    shape: Shape = "pairs"
    """of the examples"""

    @property
    def failed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.failed)

    def measured(self, system: str) -> list[Measured]:
        """Of one system, metric by metric."""
        return [] if self.report is None else [each for each in self.report.measured if each.system == system]

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Of each system, by metric."""
        return {
            row.name: {each.metric.name: each.score for each in self.measured(row.name)}
            for row in self.rows
            if not row.failed
        }

    def __repr__(self) -> str:
        from seqloom.jobs.comparing.table import text

        return text(self, "text").rstrip("\n")

    def record(self) -> dict[str, Any]:
        """All of it, for programs."""
        report = self.report
        return {
            "seqloom": __version__,
            "budget": None if self.budget is None else {self.budget.limit: self.budget.amount},
            "test": self.test,
            "examples": None if report is None else report.examples,
            "device": self.device,
            "per_second": UNITS[self.shape][1],
            "baseline": None if report is None else report.systems[0],
            "systems": [self._system(row) for row in self.rows],
            "published": list(self._published()),
            "signatures": {} if report is None else dict(report.signatures),
            "notes": list(self.notes),
        }

    def _system(self, row: Row) -> dict[str, Any]:
        facts = {} if row.facts is None else {name: getattr(row.facts, name) for name in row.facts.__dataclass_fields__}
        return {
            "name": row.name,
            "status": "failed" if row.failed else "measured",
            "failed": row.failed or None,
            "trained_here": row.trained,
            "members": list(row.members),
            "source": row.source,
            **facts,
            "scores": {each.metric.name: _score(each) for each in self.measured(row.name)},
            "slices": [] if self.report is None else _slices(self.report, row.name),
        }

    def _published(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            for result in row.published.results:
                yield {
                    "name": row.name,
                    "source": row.source,
                    "parameters": row.published.parameters,
                    **result.model_dump(mode="json"),
                    "flops": row.published.spent(result),
                }


def _score(each: Measured) -> dict[str, Any]:
    record: dict[str, Any] = {
        "score": each.score,
        "low": each.interval.low,
        "high": each.interval.high,
        "level": LEVEL,
        "higher_is_better": each.metric.higher_is_better,
    }
    if each.comparison is not None:
        record |= {
            "difference": each.comparison.difference,
            "difference_low": each.comparison.interval.low,
            "difference_high": each.comparison.interval.high,
            "p_randomisation": each.comparison.randomisation,
            "p_bootstrap": each.comparison.bootstrap,
        }
    return record


def _slices(report: Report, system: str) -> list[dict[str, Any]]:
    return [
        {
            "by": part.slice.by,
            "slice": part.slice.name,
            "examples": len(part.slice.rows),
            "metric": part.metric.name,
            "score": part.score,
        }
        for part in report.slices
        if part.system == system
    ]


def otherwise(row: Row, budget: Budget | None) -> str | None:
    """How its training ended, if not by spending the budget and no more."""
    if budget is None or row.facts is None or not row.trained:
        return None
    facts = row.facts
    if facts.ended is not None and not any(word in facts.ended for word in ENDS[budget.limit]):
        took = "" if facts.steps is None else f" after {counted(facts.steps, 'step')}"
        return f"trained for less than {spent(budget)}: {facts.ended}{took}"
    cost = {"minutes": facts.seconds and facts.seconds / 60, "flops": facts.flops, "epochs": None}[budget.limit]
    if cost is not None and cost > (1 + TOLERANCE) * budget.amount:
        steps = "" if facts.steps is None else f", in {counted(facts.steps, 'step')}"
        return f"its training took {cost / budget.amount:.3g} times {spent(budget)}{steps}"
    return None


def began_late(row: Row, budget: Budget | None) -> str | None:
    """What its start took of the minutes that it had, if that is much."""
    if budget is None or budget.limit != "minutes" or row.facts is None or not row.facts.seconds:
        return None
    minutes = row.facts.seconds / 60
    if not row.trained or otherwise(row, budget) or minutes >= (1 - START) * budget.amount:
        return None
    start, left = (duration(60 * part) for part in (budget.amount - minutes, minutes))
    return f"its start took {start} of {spent(budget)}, so that training had {left}"


def spent(budget: Budget) -> str:
    """`5 m 00 s`, `1e15 FLOPs`, `3 epochs`."""
    match budget.limit:
        case "minutes":
            return duration(60 * budget.amount)
        case "flops":
            mantissa, e, power = f"{budget.amount:.3g}".partition("e")
            return f"{mantissa}{e and f'e{int(power)}'} FLOPs"
        case "epochs":
            return f"{budget.amount:g} epoch" + ("" if budget.amount == 1 else "s")
