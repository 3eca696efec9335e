"""Files of numbers: `seqloom evaluate --metrics mse mae mase crps`."""

from pathlib import Path

import numpy as np
import pytest
import scoringrules
import sklearn.metrics as sklearn

import seqloom
from seqloom.evaluation.report import Report
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.settings import UserError
from tests.cli.run import run

DRAW = np.random.default_rng(1)
WANTED = DRAW.normal(size=(30, 5)).round(3)
NEAR = (WANTED + DRAW.normal(size=(30, 5)) / 10).round(3)
FAR = (WANTED + DRAW.normal(size=(30, 5))).round(3)
PAST = DRAW.normal(size=(30, 9)).round(3)
SAMPLES = (WANTED[..., None] + DRAW.normal(size=(30, 5, 4))).round(3)


def write(name: str, rows: object, between: str = " ") -> None:
    lines = (between.join("|".join(map(str, np.atleast_1d(step))) for step in row) for row in rows)  # type: ignore[attr-defined]
    Path(name).write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows, between in (
        ("wanted", WANTED, "\t"),
        ("near", NEAR, ", "),
        ("far", FAR, " "),
        ("past", PAST, ","),
        ("samples", SAMPLES, " "),
    ):
        write(name, rows, between)
    return tmp_path


def found(*hypotheses: str, notes: list[str] | None = None, **more: object) -> Report:
    heard: list[str] = [] if notes is None else notes
    command = Evaluate(hypotheses=hypotheses, references=("wanted",), **more)  # type: ignore[arg-type]
    return evaluate(command, heard.append)[0]


def test_errors_with_intervals_and_significance(files: Path) -> None:
    report = found("near", "far", metrics=("mae", "mse"))
    mae, other, mse, _ = report.measured
    assert mae.score == pytest.approx(sklearn.mean_absolute_error(WANTED.ravel(), NEAR.ravel()))
    assert mse.score == pytest.approx(sklearn.mean_squared_error(WANTED.ravel(), NEAR.ravel()))
    assert mae.interval.low < mae.score < mae.interval.high
    assert other.comparison is not None
    assert other.comparison.mark == "***"
    assert other.comparison.difference > 0
    assert report.slices == ()


def test_scaled_errors(files: Path) -> None:
    for season in 1, 3:
        (mase,) = found("far", metrics=("mase",), history="past", changes=(f"evaluation.season={season}",)).measured
        scale_N1 = np.abs(PAST[:, season:] - PAST[:, :-season]).mean(1, keepdims=True)
        assert mase.score == pytest.approx(float((np.abs(FAR - WANTED) / scale_N1).mean()))
        assert f"season:{season}|" in mase.metric.signature()


def test_distributions(files: Path) -> None:
    (crps,) = found("samples", metrics=("crps",)).measured
    assert crps.score == pytest.approx(float(scoringrules.crps_ensemble(WANTED, SAMPLES, estimator="nrg").mean()))
    point, mae = found("far", metrics=("crps", "mae")).measured
    assert point.score == pytest.approx(mae.score)  # a value alone is a distribution that is sure


def test_quantiles(files: Path) -> None:
    """In any order: their levels tell."""
    lines = [" ".join(f"0.9:{one + 1}|0.1:{one - 1}|0.5:{one}" for one in row) for row in FAR]
    Path("quantiles").write_text("".join(f"{line}\n" for line in lines))
    (crps,) = found("quantiles", metrics=("crps",)).measured
    quantiles = np.stack((FAR - 1, FAR, FAR + 1), -1)
    expected = scoringrules.crps_quantile(WANTED, quantiles, np.array([0.1, 0.5, 0.9]))
    assert crps.score == pytest.approx(float(expected.mean()))
    assert "by:3 quantiles" in crps.metric.signature()


def test_missing_references_are_not_counted(files: Path) -> None:
    holed = WANTED.copy()
    holed[::2, 1] = np.nan
    write("wanted", holed)
    (mae,) = found("far", metrics=("mae",)).measured
    assert mae.score == pytest.approx(float(np.nanmean(np.abs(FAR - holed))))


def test_slices_by_steps(files: Path) -> None:
    write("wanted", [row[: 1 + at % 4] for at, row in enumerate(WANTED)])
    write("near", [row[: 1 + at % 4] for at, row in enumerate(NEAR)], ",")
    slices = found("near", metrics=("mae",)).slices
    assert [(one.slice.by, one.slice.name) for one in slices] == [
        ("reference steps", str(step)) for step in range(1, 5)
    ]


def test_a_history_that_never_changes_is_told(files: Path) -> None:
    notes: list[str] = []
    write("past", [[1.0, 1.0], *PAST[1:]])
    found("near", metrics=("mase",), history="past", notes=notes)
    assert notes == ["MASE leaves out 1 of 30 series, whose history never changes: there is no scale"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 x 4 5", "far:1: 'x' is no number"),
        ("1,2,,4,5", "far:1: '' is no number"),
        ("1 2 nan 4 5", "far:1: 'nan' is no number"),
        ("1 2 inf 4 5", "far:1: 'inf' is no number"),
        ("", "far:1: empty; a series needs a number at least"),
        ("1 2 3", "far:1: a forecast of 3 steps, but wanted:1 has 5"),
        ("1|2 2 3 4 5", "far:1: all steps of a series need as many values, at the same levels"),
        ("1|0.5:2 2 3 4 5", "far:1: 1|0.5:2: all values of a step have a level, or none has"),
        ("5:1 5:2 5:3 5:4 5:5", "far:1: 5:1: the levels of quantiles lie between 0 and 1, each once"),
        ("0.5:1 0.5:2 0.5:3 0.5:4 0.5:5", "far:1: quantiles at 0.5, but near:1 has values without levels; all need"),
        ("1|1 2|2 3|3 4|4 5|5", "far:1: 2 values a step, but mae takes one; --metrics crps takes all"),
    ],
)
def test_lines_that_are_no_series(files: Path, line: str, message: str) -> None:
    rest = Path("far").read_text().splitlines(keepends=True)[1:]
    Path("far").write_text("".join([line + "\n", *rest]))
    with pytest.raises(UserError) as caught:
        found("near", "far", metrics=("mae", "crps"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"metrics": ("mase",)}, r"--metrics mase: name the past of the series with --history FILE"),
        ({"metrics": ("mae",), "history": "past"}, r"--history is the past of series, which only --metrics mase needs"),
        ({"history": "past"}, r"--history is the past of series"),
        ({"metrics": ("mae",), "references": ("wanted", "near")}, r"--metrics mae: a series has one reference, not 2"),
        (
            {"metrics": ("mase",), "history": "past", "changes": ("evaluation.season=9",)},
            r"past:1: 9 values, but a season of 9 \(evaluation.season\) needs more",
        ),
        ({"metrics": ("rmse",)}, r"no metric of texts, labels or series; did you mean 'mse'\?"),
    ],
)
def test_mistakes(files: Path, more: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(Evaluate(**{"hypotheses": ("far",), "references": ("wanted",), **more}))  # type: ignore[arg-type]


def test_nothing_to_count(files: Path) -> None:
    write("wanted", np.full_like(WANTED, np.nan))
    with pytest.raises(UserError, match="--metrics mae: nothing can be counted: no reference has a value"):
        found("far", metrics=("mae",))


def test_the_command_and_python(files: Path) -> None:
    words = ["evaluate", "--hypotheses", "near", "far", "--references", "wanted", "--history", "past"]
    ran = run(*words, "--metrics", "mae", "mase", "--examples", "1")
    assert (ran.code, ran.error) == (0, "")
    assert "MASE: season:1|" in ran.out
    assert "far, worst: example " in ran.out
    scores = seqloom.evaluate(hypotheses="near", references="wanted", history="past", metrics="mase").scores
    assert scores["near"]["mase"] == found("near", metrics=("mase",), history="past").measured[0].score
