"""Forecasters side by side and together: the same windows, the mean of what they say, the part that chose them."""

import re
from pathlib import Path

import numpy as np
import pytest

from seqloom.jobs.deciding.asked import corpora_like
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.jobs.evaluating import rolling
from seqloom.jobs.evaluating import runs as evaluated_runs
from seqloom.jobs.model import load
from seqloom.settings import UserError
from tests.jobs.series import learn, write_forecaster, write_series


@pytest.fixture
def place(place: Path) -> Path:
    write_series(place / "a.csv")
    write_forecaster(place / "r.toml")
    return place


def test_runs_are_evaluated_together_by_the_mean_of_what_they_say(place: Path) -> None:
    learn()
    learn("other", changes=["training.seed=2"])
    report, _ = evaluate(Evaluate(("run", "other"), ("a.csv",), metrics=("mse-units",), ensemble=("all",)))
    assert report.systems == ("run", "other", "ensemble")
    errors = []
    for model in (load("run"), load("other"), load(["run", "other"])):
        forecaster = model.forecaster("run")
        test = rolling.test_of(forecaster.task, corpora_like(("a.csv",), ()), model.opened[0].run, "test")
        (sums,) = rolling.errors(forecaster, test, ["mse-units"], lambda share: None).values()
        errors.append(np.sum(sums, 0)[0] / np.sum(sums, 0)[1])
    assert [one.score for one in report.measured] == pytest.approx(errors, rel=1e-5)
    assert errors[2] < (errors[0] + errors[1]) / 2  # squares: the mean of two is better than they are in the mean
    with pytest.raises(UserError, match="one run"):
        evaluate(Evaluate(("run",), ("a.csv",), ensemble=("all",)))


def _forecasts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is refused is refused before the long work."""

    def work(*given: object) -> None:
        raise AssertionError("it forecasts")

    monkeypatch.setattr(evaluated_runs, "errors", work)


@pytest.mark.parametrize("quantiles", ["[]", "[0.05, 0.5, 0.95]"])
def test_runs_of_other_quantiles_share_the_scores_that_need_none(
    place: Path, monkeypatch: pytest.MonkeyPatch, quantiles: str
) -> None:
    learn()
    learn("other", changes=[f"model.output.quantiles={quantiles}"])
    for runs in ("run", "other"), ("other", "run"):
        report, _ = evaluate(Evaluate(runs, ("a.csv",), metrics=("mse", "mase")))
        assert {one.metric.name for one in report.measured} == {"mse", "mase"}
    _forecasts_nothing(monkeypatch)
    shown = {"run": "0.1, 0.5, 0.9", "other": quantiles.strip("[]") or "none"}
    for first, second in ("run", "other"), ("other", "run"):
        unlike = f"{second}: says other quantiles ({shown[second]}) than {first} ({shown[first]}), and "
        for asked, needed, rest in (
            ((), "crps and coverage", "mse mae mase mae-units"),
            (("coverage",), "coverage", "mse mae mase mae-units"),
            (("mae", "crps"), "crps", "mae"),
        ):
            fix = f"{needed} would be of them; count what needs none: --metrics {rest}"
            with pytest.raises(UserError, match=f"^{re.escape(unlike + fix)}$"):
                evaluate(Evaluate((first, second), ("a.csv",), metrics=asked))
        anew = f"than {first} ({shown[first]}); leave it out, or train it anew with the same (model.output.quantiles)"
        with pytest.raises(UserError, match=f"^{second}: says other quantiles .* {re.escape(anew)}$"):
            evaluate(Evaluate((first, second), ("a.csv",), metrics=("mse",), ensemble=("all",)))


def test_forecasters_that_read_otherwise_say_the_mean_of_what_each_says_alone(place: Path) -> None:
    """The same windows, whichever comes first; what is known ahead is cut with the look-back."""
    learn(changes=['task.calendar=["hour"]'])
    learn("other", changes=['task.calendar=["hour"]', "task.look_back=12", "task.normalise=last"])
    both = ("run", "other"), ("other", "run")
    alone = [load(run).forecast("a.csv")[0].said_HCQ for run in both[0]]
    scores = []
    for runs in both:
        together = load(list(runs)).forecast("a.csv")[0].said_HCQ
        np.testing.assert_allclose(together, np.mean(alone, 0), rtol=1e-4, atol=1e-5)
        report, _ = evaluate(Evaluate(runs, ("a.csv",), metrics=("mse",), ensemble=("all",)))
        scores.append({one.system: one.score for one in report.measured})
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)


def test_runs_that_cannot_forecast_together_are_told_what_differs_before_they_forecast(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn()
    learn("other", changes=["task.horizon=5", "task.look_back=12"])
    _forecasts_nothing(monkeypatch)
    message = (
        "other: has another task.horizon (5, and 6 there) than run; runs that answer together are "
        "trained with the same [task]: leave it out, or train it anew so"
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        evaluate(Evaluate(("run", "other"), ("a.csv",), ensemble=("all",)))


def test_other_look_backs_are_signed(place: Path) -> None:
    learn()
    learn("other", changes=["task.look_back=12"])
    report, _ = evaluate(Evaluate(("run", "other"), ("a.csv",), metrics=("mse",)))
    assert report.measured[0].metric.signature().startswith("look-back:24/12|horizon:6|")


def test_the_part_that_chose_the_model_can_be_evaluated_too(place: Path) -> None:
    trained, notes = learn(), list[str]()
    report, _ = evaluate(Evaluate(("run",), ("a.csv",), changes=("evaluation.part=valid",)), notes.append)
    scores = {one.metric.name: one.score for one in report.measured}
    assert scores["mse"] == pytest.approx(trained.scores["mse"], rel=1e-5)
    assert scores["mse"] != pytest.approx(trained.test_scores["mse"], rel=1e-5)
    assert any("its validation part is forecast" in note and "which chose the model too" in note for note in notes)
    write_series(place / "b.csv", steps=60)
    with pytest.raises(UserError, match=r"b.csv: run was not trained on it, so that it has no validation part; leave"):
        evaluate(Evaluate(("run",), ("b.csv",), changes=("evaluation.part=valid",)))
