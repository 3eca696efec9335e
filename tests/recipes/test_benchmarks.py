"""The recipes of benchmarks/ are recipes: a setting that was renamed is found here, not on a rented machine."""

from pathlib import Path

import pytest

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import load

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILES = [file for file in sorted(FOLDER.glob("*/*.toml")) if "adapted" not in file.name]  # those take a run's model


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(FOLDER)) for file in FILES])
def test_a_recipe(file: Path) -> None:
    load(file, Recipe)


def test_some_are_found() -> None:
    assert len(FILES) > 20
