"""Curves of a run, read while it grows; never more than can be seen."""

import json
from pathlib import Path

import pytest

from seqloom.jobs.looking.progress import POINTS, Curve, Progress
from seqloom.settings import UserError
from seqloom.store import RunFolder
from tests.jobs.asked_runs import Runs


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


def add(run: RunFolder, *steps: int) -> None:
    for step in steps:
        run.add_metrics({"step": step, "loss": 1 / step})


def test_a_real_run(runs: Runs) -> None:
    run = RunFolder(runs["pairs"])
    document = Progress(run).document()
    assert document["running"] is False
    lines = run.read_metrics()
    assert document["metrics"]["loss"] == [[line["step"], line["loss"]] for line in lines if "loss" in line]
    assert document["metrics"]["valid_loss"] == [
        [line["step"], line["valid.loss"]] for line in lines if "valid.loss" in line
    ]
    assert [look["step"] for look in document["looks"]] == [150]
    assert document["looks"][0]["weights"]["shape"] == [2, len(document["rows"]), len(document["columns"])]
    json.dumps(document)


def test_it_reads_on(run: RunFolder) -> None:
    progress = Progress(run)
    with pytest.raises(UserError, match="there is no training to be seen"):
        progress.document()
    add(run, 1, 2)
    assert [step for step, _ in progress.document()["metrics"]["loss"]] == [1, 2]
    with run.metrics.open("a") as file:
        file.write('{"step": 3, "lo')  # a line that is not all there
    assert [step for step, _ in progress.document()["metrics"]["loss"]] == [1, 2]
    with run.metrics.open("a") as file:
        file.write('ss": 0.5}\nnonsense\n{"step": null}\n')
    assert progress.document()["metrics"]["loss"][-1] == [3, 0.5]


def test_a_run_that_goes_on_from_a_checkpoint(run: RunFolder) -> None:
    progress = Progress(run)
    add(run, 1, 2, 3, 4)
    progress.document()
    run.keep_metrics(until=2)
    add(run, 3)
    assert [step for step, _ in progress.document()["metrics"]["loss"]] == [1, 2, 3]


def test_it_is_told_whether_it_trains(run: RunFolder) -> None:
    with run.locked():
        assert Progress(run).document()["running"] is True  # though nothing has been measured yet
        add(run, 1)
    assert Progress(run).document()["running"] is False


@pytest.mark.parametrize("count", [1, POINTS - 1, POINTS, 10 * POINTS + 3])
def test_a_long_curve_is_thinned(count: int) -> None:
    curve = Curve()
    for step in range(count):
        curve.add(step, -step)
        assert len(curve.points) < POINTS
    shown = curve.shown()
    assert len(shown) <= POINTS
    assert len(shown) >= min(count, POINTS // 2)
    assert shown[0] == [0, 0]
    assert shown[-1] == [count - 1, 1 - count]
    assert [step for step, _ in shown] == sorted({int(step) for step, _ in shown})
