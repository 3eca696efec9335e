"""What is wrong with a comparison is told before anything is trained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqloom.jobs.compare import compare
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget
from seqloom.settings import UserError
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.series import RECIPE, write_series

FEW = ("evaluation.trials=100", "evaluation.resamples=100")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics": ("blue",)}, "--metrics blue: no metric of translations; did you mean 'bleu'?"),
        ({"changes": ("generation.beam=0",)}, "--set generation.beam=0: [generation] beam"),
        ({"changes": ("generation.lenght.alpha=1",)}, "has no setting 'lenght'; did you mean 'length'?"),
        (
            {"systems": ("a.toml", "backwards.toml"), "ensemble": ("a", "backwards")},
            "--ensemble: backwards has another task.reverse (True, and False there) than a; "
            "systems that write together have the same [task]",
        ),
        ({"test": ("short.a", "long.b")}, "long.b"),
        ({"test": ("empty.tsv",)}, "empty.tsv"),
        ({"test": ("half.tsv",)}, "half.tsv:2"),
    ],
)
def test_of_translations(place: Path, worked: list[Work], asked: dict[str, Any], message: str) -> None:
    write_pairs(place / "pairs.tsv")
    write_pairs(place / "test.tsv", count=30, seed=2)
    recipes = tuple(str(write_recipe(place / name)) for name in ("a.toml", "b.toml"))
    write_recipe(place / "backwards.toml", "[task]\nkind = 'translate'\nreverse = true\n")
    (place / "short.a").write_text("a\nb\n")
    (place / "long.b").write_text("a\nb\nc\n")
    (place / "empty.tsv").write_text("")
    (place / "half.tsv").write_text("a\tb\nc\n")
    command = Compare(recipes, ("pairs.tsv",), test=("test.tsv",), budget=Budget("epochs", 1.0), changes=FEW)
    with pytest.raises(UserError) as caught:
        compare(replace(command, **asked), view="none")
    assert message in str(caught.value)
    assert not worked


def _forecasters(place: Path, *levels: str) -> Compare:
    write_series(place / "a.csv")
    write_series(place / "test.csv", steps=80, after=200)
    recipes = []
    for number, some in enumerate(levels):
        text = RECIPE.replace("[0.1, 0.5, 0.9]", some)
        assert some in text
        recipes.append(str(write_recipe(place / f"r{number}.toml", text=text)))
    return Compare(tuple(recipes), ("a.csv",), test=("test.csv",), budget=Budget("epochs", 1.0), changes=FEW)


@pytest.mark.parametrize(
    "levels", [("[0.1, 0.5, 0.9]", "[0.2, 0.5, 0.8]"), ("[0.1, 0.5, 0.9]", "[]"), ("[]", "[0.1, 0.9]")]
)
def test_forecasts_of_other_quantiles(place: Path, worked: list[Work], levels: tuple[str, str]) -> None:
    """As `evaluate` has it: what is of quantiles is no score of both."""
    command = _forecasters(place, *levels)
    found = compare(command, view="none")
    assert set(found.scores["r0"]) == set(found.scores["r1"]) == {"mse", "mae", "mase", "mae-units"}
    one, other = (some.strip("[]") or "none" for some in levels)
    assert (
        f"crps and coverage are left out, as they would be of other quantiles (r0: {one}; r1: {other})" in found.notes
    )
    del worked[:]
    with pytest.raises(UserError, match="says other quantiles"):
        compare(replace(command, metrics=("crps",), force=True), view="none")
    assert not worked


def test_forecasts_of_the_same_quantiles(place: Path, worked: list[Work]) -> None:
    found = compare(_forecasters(place, "[0.1, 0.5, 0.9]", "[0.1, 0.5, 0.9]"), view="none")
    assert {"crps", "coverage"} <= set(found.scores["r1"])
    assert not [note for note in found.notes if "quantiles" in note]
