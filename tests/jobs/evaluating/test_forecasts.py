"""Forecasters are scored: which windows, in which scale, and what is counted."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.settings import UserError
from tests.cli.run import run
from tests.jobs.series import learn, write_forecaster, write_series


@pytest.fixture
def place(place: Path) -> Path:
    write_series(place / "a.csv")
    write_forecaster(place / "r.toml")
    return place


def test_runs_of_another_horizon_are_not_compared(place: Path) -> None:
    learn()
    shutil.copytree("run", "same")
    learn("other", changes=["task.horizon=5"])
    report, _ = evaluate(Evaluate(("run", "same"), ("a.csv",)))
    assert report.systems == ("run", "same")
    report, _ = evaluate(Evaluate(("one=run", "two=run"), ("a.csv",)))
    assert report.systems == ("one", "two")
    with pytest.raises(UserError, match="other: forecasts other windows than run"):
        evaluate(Evaluate(("run", "other"), ("a.csv",)))
    with pytest.raises(UserError, match=r"--metrics bleu: no metric of forecasts"):
        evaluate(Evaluate(("run",), ("a.csv",), metrics=("bleu",)))


def test_a_series_that_is_not_known_is_scaled_by_what_was_before_the_first_forecast(place: Path) -> None:
    write_series(place / "a.csv", shops=("north",))
    learn()
    write_series(place / "b.csv", shops=("west",), steps=60)
    before, _ = evaluate(Evaluate(("run",), ("b.csv",), metrics=("mse", "mse-units")))
    scores = {one.metric.name: one.score for one in before.measured}
    lines = (place / "b.csv").read_text(encoding="utf-8").splitlines()[1:25]
    deviation_C = np.array([line.split(",")[2:] for line in lines], float).std(0)
    assert scores["mse-units"] / scores["mse"] < deviation_C.max() ** 2 * 1.001
    assert scores["mse-units"] / scores["mse"] > deviation_C.min() ** 2 * 0.999


def test_what_is_counted_in_the_table_of_scores_is_named(place: Path) -> None:
    learn()
    done = run("evaluate", "run", "--data", "a.csv")
    assert done.code == 0, done.error
    assert re.match(r"run: \d+ blocks? of windows\n", done.out)
