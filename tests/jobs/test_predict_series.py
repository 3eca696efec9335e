"""Forecasts as files: in the way that the series' own file is written, and never one over another."""

from pathlib import Path

import pytest

from seqloom.jobs.model import load
from seqloom.jobs.predict_series import AskingSeries, predict_series
from seqloom.settings import UserError
from tests.jobs.series import asked, learn, write_forecaster, write_series


@pytest.fixture
def place(place: Path) -> Path:
    write_series(place / "a.csv")
    write_forecaster(place / "r.toml")
    return place


def test_a_forecast_has_decimal_commas_where_the_file_has(place: Path) -> None:
    """So the rows can be put behind those of the file, which the run reads then."""
    learn()
    plain, _ = asked()
    commas = (place / "a.csv").read_text(encoding="utf-8").replace(",", ";").replace(".", ",")
    (place / "a.csv").write_text(commas, encoding="utf-8")
    learn(out=Path("other"), changes=("task.decimal=,",))
    assert asked(folder="other")[0] == plain.replace(",", ";").replace(".", ",").replace("_0,", "_0.")
    assert asked(folder="other", form="tsv")[0] == asked(folder="other")[0].replace(";", "\t")
    rows = [";".join(line.split(";")[i] for i in (0, 1, 5)) for line in asked(folder="other")[0].splitlines()[1:]]
    (place / "on.csv").write_text(commas + "\n".join(rows), encoding="utf-8")
    assert asked("on.csv", "other")[1][-1] == "6 steps from 2024-01-09 14:00:00 to 2024-01-09 19:00:00"


def test_a_forecast_is_not_written_over_another(place: Path) -> None:
    learn()
    notes = list[str]()
    asking = AskingSeries("a.csv", out=Path("next.csv"))
    predict_series(load("run"), asking, notes.append)
    predict_series(load("run"), asking, notes.append)
    assert notes[-1] == "next.csv: already done"
    with pytest.raises(UserError, match=r"next\.csv: is there already, and holds something else; .*--force"):
        predict_series(load("run"), AskingSeries("a.csv", form="jsonl", out=Path("next.csv")), notes.append)
