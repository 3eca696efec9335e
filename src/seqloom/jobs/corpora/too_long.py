"""How long an example may be, which setting says so, and what would keep the longer ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seqloom.data.prepare import Prepared
from seqloom.jobs.recipes.recipe import Recipe, joins, learned_positions
from seqloom.layers.positions import Learned
from seqloom.tasks import Forecast, Language, Masked, Music, Nodes, task_class


@dataclass(frozen=True)
class Longest:
    """How many tokens a side of an example may have, and which setting says so."""

    tokens: int
    setting: str
    marks: int = 0
    """How many of what the setting counts are no tokens of the example."""


def longest_of(recipe: Recipe) -> Longest | None:
    """What data and model allow; a model's positions are also taken by a mark for begin or end.

    None: running text, or a series, which is cut into windows.
    """
    return min(_limits(recipe), key=lambda limit: limit.tokens, default=None)


def _limits(recipe: Recipe) -> list[Longest]:
    task = recipe.task
    if isinstance(task, Masked | Forecast | Music | Nodes) or (isinstance(task, Language) and task.lines == "text"):
        return []
    limits = [Longest(recipe.data.longest, "data.longest")]
    limits += [Longest(task.context, "task.context")] if isinstance(task, Language) else []
    if not joins(recipe):  # there both sides share the positions, which the recipe has checked
        mark = int(task_class(task).shape != "series")
        every = learned_positions(recipe.model, series=not mark)
        limits += [Longest(length - mark, "model.positions.length", mark) for length in every]
    return limits


def keeping(recipe: Recipe, parts: Sequence[Prepared]) -> tuple[str, ...]:
    """The command that keeps all that was too long, where there is one."""
    changes = dict(_changes(recipe, [part for part in parts if part.too_long]))
    return (f"to keep them: {' '.join(f'--set {name}={most}' for name, most in changes.items())}",) if changes else ()


def _changes(recipe: Recipe, parts: Sequence[Prepared]) -> Iterator[tuple[str, int]]:
    source = recipe.data.longest_source
    needed = {name: max(part.longest.get(name, 0) for part in parts) for part in parts for name in part.longest}
    if source is not None and needed.get("source", 0) > source:
        yield "data.longest_source", _rounded(needed["source"])
    most = _rounded(max((count for name, count in needed.items() if source is None or name != "source"), default=0))
    for limit in _limits(recipe):
        # what is read by patches, or has positions of its own on one side, has no such setting
        counted_otherwise = limit.marks == 0 or not isinstance(recipe.model.positions, Learned)
        if limit.tokens < most and not (limit.setting == "model.positions.length" and counted_otherwise):
            yield limit.setting, most + limit.marks


def _rounded(count: int) -> int:
    """Up, to a number with two digits that tell something."""
    step = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step
