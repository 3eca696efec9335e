"""Tests that training or validation has seen: whoever compares on them is told."""

import random
from pathlib import Path

import pytest

from seqloom.jobs.comparing.system import in_training, systems_of
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget, Command
from tests.jobs.comparing.systems import compared, write_systems


@pytest.fixture
def pairs(place: Path, worked: list[Work]) -> Path:
    return write_systems(place)


def test_examples_of_the_test_in_training_are_told(pairs: Path) -> None:
    lines = Path("pairs.tsv").read_text().splitlines(keepends=True)
    strange = "".join(f"{'h' * n}\t{'h' * n}\n" for n in range(9, 19))
    Path("test.tsv").write_text("".join(lines[:5]) + strange)
    known = "5 of 15 examples of the test stand in the training data too"
    assert known in repr(compared("a.toml"))
    assert known in repr(compared("a.toml", valid=("test.tsv",), test=(), out=Path("held")))


def test_a_test_that_chose_models_is_told(pairs: Path) -> None:
    Path("same.tsv").write_text(Path("test.tsv").read_text())
    told = "is validated on too, which chose the best model of a, b; name another --test"
    assert told not in repr(compared("a.toml", "b.toml"))
    assert f"same.tsv: {told}" in repr(
        compared("a.toml", "b.toml", valid=("test.tsv",), test=("same.tsv",), out=Path("o"))
    )


def test_long_series_are_the_same_only_if_their_middles_are(place: Path) -> None:
    """numpy writes no more than both ends of them."""
    draw = random.Random(1)
    for name in ("train.csv", "test.csv"):
        middles = ([round(draw.random(), 3) for _ in range(1500)] for _ in range(20))
        rows = (f"{'ab'[n % 2]},0,0,0,{','.join(map(str, middle))},0,0,0\n" for n, middle in enumerate(middles))
        head = f"label,{','.join(f'v{at}' for at in range(1506))}\n"
        Path(name).write_text(head + "".join(rows))
    systems = systems_of(["motion-classifier"], Command(data=("train.csv",), budget=Budget("epochs", 1)), place)
    assert in_training(systems, ("test.csv",)) is None
    Path("test.csv").write_text(Path("train.csv").read_text())
    assert in_training(systems, ("test.csv",)) == "20 of 20 examples of the test stand in the training data too"
