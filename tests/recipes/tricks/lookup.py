"""How tricks are written down, and looked up in a recipe.

A trick is a setting without which a recipe would be another system, named by its path in the recipe. A path that begins
with "encoder" or "decoder" is of that stack as it is built; behind "mixer", "cross" and "feed_forward" one value is of
all layers, and a list is of each in turn.
"""

from typing import Any

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.stack_settings import StackSettings

Tricks = dict[str, Any]

ABSENT = "absent"
"""What a setting is that a kind does not have."""

LAYERS = {"mixer": StackSettings.mixers, "cross": StackSettings.crosses, "feed_forward": StackSettings.feed_forwards}


def of(stack: str, tricks: Tricks) -> Tricks:
    """Tricks of a stack's layers, as those of a recipe."""
    return {f"{stack}.{path}": value for path, value in tricks.items()}


def both(tricks: Tricks) -> Tricks:
    """The same of encoder and decoder."""
    return of("encoder", tricks) | of("decoder", tricks)


def look_up(made: Recipe, path: str) -> Any:
    """What a recipe says there: a list of what each layer says, or one value."""
    first, name, *rest = path.split(".")
    if first in ("encoder", "decoder"):
        stack = made.model.side(first)
        if name in LAYERS:
            return [_inside(layer, rest) for layer in LAYERS[name](stack)]
        return _inside(stack, [name, *rest])
    return _inside(made, [first, name, *rest])


def _inside(settings: Any, names: list[str]) -> Any:
    for name in names:
        settings = getattr(settings, name, ABSENT)
    return settings
