"""Recipes of a model alone, and what is said of them."""

import pytest

from seqloom.models.settings import ModelSettings
from seqloom.settings import Frozen, SettingsError, loads


class Recipe(Frozen):
    """A recipe's model alone."""

    model: ModelSettings = ModelSettings()


HEADS = 'mixer = { kind = "attention", heads = 2 }\n'


def recipe(text: str, width: int = 8, depth: int = 2) -> str:
    """Lines 1 to 3; what a test is about begins in line 4."""
    return f"[model]\nwidth = {width}\ndepth = {depth}\n{text}"


def message(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        loads(text, Recipe, name="x.toml")
    return str(caught.value)
