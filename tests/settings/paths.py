"""Whether a dotted path leads to a setting of a recipe, for tests."""

from typing import Any

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings.shape import Slot, inside, is_union, members, names, slot


def is_setting(path: str) -> bool:
    here = [slot(Recipe)]
    for step in path.split("."):
        tables = [one for each in here for one in _tables(each) if step in [*names(one), *_kinds(one)]]
        here = [inside(one, step) for one in tables]
    return bool(here)


def _tables(here: Slot) -> list[Slot]:
    return [one for member in members(here.type) for one in _tables(slot(member))] if is_union(here.type) else [here]


def _kinds(here: Slot) -> list[Any]:
    return ["kind"] if "kind" in names(here) else []
