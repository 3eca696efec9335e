"""Data of another kind than the run reads that is begun from."""

from pathlib import Path

import pytest

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.settings import UserError
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.series import write_forecaster, write_series


def test_the_task_is_said_to_be_that_of_the_run(place: Path) -> None:
    write_series(place / "a.csv")
    write_forecaster(place / "r.toml")
    train(Command("r.toml", ("a.csv",), out=Path("run"), changes=("training.steps=1",)), view="none")
    write_pairs(place / "pairs.tsv")
    why = r"^pairs\.tsv:1: .*\n--from run: its task is forecast, for which these files are read; name files for that"
    with pytest.raises(UserError, match=why):
        train(Command(data=("pairs.tsv",), out=Path("new"), start=Path("run")), view="none")


def test_a_fault_of_data_of_the_right_kind_is_told_alone(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "r.toml")
    train(Command("r.toml", ("pairs.tsv",), out=Path("run"), changes=("training.steps=1",)), view="none")
    (place / "bad.tsv").write_text("ab\tba\nab\t\n")
    with pytest.raises(UserError) as told:
        train(Command(data=("bad.tsv",), out=Path("new"), start=Path("run")), view="none")
    assert str(told.value).startswith("bad.tsv:2: ")
    assert "--from" not in str(told.value)
