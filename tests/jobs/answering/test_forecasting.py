"""Forecasts from end to end: training, going on, forecasting behind a file's end, evaluating, comparing."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from seqloom.jobs.answering.forecasting import Forecast
from seqloom.jobs.check import check
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.jobs.model import load
from seqloom.jobs.train import train
from seqloom.settings import UserError
from seqloom.tasks.forecast import ForecastTask
from tests.jobs.series import asked, learn, write_forecaster, write_series


@pytest.fixture
def place(place: Path) -> Path:
    write_series(place / "a.csv")
    write_forecaster(place / "r.toml")
    return place


def test_a_run_is_trained_forecasts_and_is_evaluated(place: Path) -> None:
    trained = learn()
    assert set(trained.scores) == {"loss", "mse", "mae", "crps"}
    assert set(trained.test_scores) == {"loss", "mse", "mae", "crps"}
    for name in ("card.md", "forecast.svg", "curves.svg", "vocabulary/scales.json"):
        assert (place / "run" / name).exists()
    assert "window" in (place / "run" / "card.md").read_text(encoding="utf-8")
    text, notes = asked(picture=Path("next.svg"))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["date", *(f"{c}{q}" for c in ("warm", "wet") for q in ("", "_0.1", "_0.5", "_0.9"))]
    assert [row["date"] for row in rows] == [f"2024-01-09 {hour:02}:00:00" for hour in range(8, 14)]
    assert all(float(row["wet_0.1"]) <= float(row["wet_0.5"]) <= float(row["wet_0.9"]) for row in rows)
    assert notes[-1] == "6 steps from 2024-01-09 08:00:00 to 2024-01-09 13:00:00"
    for name in ("next.svg", "run/forecast.svg"):
        drawn = ElementTree.fromstring((place / name).read_text(encoding="utf-8"))
        paths = [one.get("class", "") for one in drawn.iter("{http://www.w3.org/2000/svg}path")]
        assert paths.count("band b") == 2  # one a column
        assert paths.count("line b") == 2
        assert paths.count("line c") == (2 if name != "next.svg" else 0)  # what came is known of the last window
    report, _ = evaluate(Evaluate(("run",), ("a.csv",)), notes.append)
    scores = {one.metric.name: one for one in report.measured}
    assert scores["mse"].score == pytest.approx(trained.test_scores["mse"], rel=1e-5)
    assert scores["crps"].score == pytest.approx(trained.test_scores["crps"], rel=1e-5)
    assert set(scores) == {"mse", "mae", "crps", "mase", "mae-units", "coverage"}
    assert any("its test part is forecast, from 2024-01-08 12:00:00 on" in note for note in notes)
    assert any("15 windows, a step apart, none left out" in note for note in notes)  # 20 steps: 20 − 6 + 1


def test_series_that_end_at_other_times(place: Path) -> None:
    """All that is forecast lies between the times that are said."""
    learn()
    head, *rows = Path("a.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{row},{name}" for name, end in (("x", len(rows)), ("y", len(rows) - 48)) for row in rows[:end]]
    Path("b.csv").write_text("\n".join([f"{head},shop", *lines]) + "\n", encoding="utf-8")
    assert asked("b.csv")[1][-1] == "2 series: 6 steps from 2024-01-07 08:00:00 to 2024-01-09 13:00:00"


def test_errors_in_own_units_and_against_a_season_ago(place: Path) -> None:
    """Counted by hand from what the model says of each window."""
    learn()
    model = load("run")
    report, _ = evaluate(Evaluate(("run",), ("a.csv",), metrics=("mse,mae-units,mase,mse-units",)))
    table = [line.split(",")[1:] for line in Path("a.csv").read_text(encoding="utf-8").splitlines()[1:]]
    values_TC = np.array(table, float)
    trained_TC = values_TC[:160]
    naive_C = np.abs(trained_TC[24:] - trained_TC[:-24]).mean(0)
    away = []
    for start in range(180, 195):
        write = [f"{line}\n" for line in Path("a.csv").read_text(encoding="utf-8").splitlines()[: start + 1]]
        Path("cut.csv").write_text("".join(write), encoding="utf-8")
        (forecast,) = model.forecast("cut.csv")
        away.append(forecast.mean - values_TC[start : start + 6])
    away_BHC = np.array(away)
    scores = {one.metric.name: one.score for one in report.measured}
    assert scores["mae-units"] == pytest.approx(np.abs(away_BHC).mean(), rel=1e-4)
    assert scores["mse-units"] == pytest.approx((away_BHC**2).mean(), rel=1e-4)
    assert scores["mase"] == pytest.approx((np.abs(away_BHC) / naive_C).mean(), rel=1e-4)
    assert scores["mse"] == pytest.approx((away_BHC**2 / trained_TC.var(0)).mean(), rel=1e-4)


def test_scales_are_of_the_training_part_alone(place: Path) -> None:
    learn()
    before = json.loads((place / "run/vocabulary/scales.json").read_text(encoding="utf-8"))
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    changed = [line if row <= 160 else f"{line.split(',')[0]},{900 + row},{row}" for row, line in enumerate(lines)]
    (place / "a.csv").write_text("\n".join(changed) + "\n", encoding="utf-8")
    learn("other")
    after = json.loads((place / "other/vocabulary/scales.json").read_text(encoding="utf-8"))
    assert before == after


def test_a_run_that_was_stopped_ends_with_the_same_bits(place: Path) -> None:
    learn("whole")
    learn("parts", changes=["training.steps=2"])
    learn("parts", changes=["training.steps=4"])
    one, other = ((place / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert one == other


def test_several_series_in_one_file(place: Path) -> None:
    write_series(place / "a.csv", shops=("north", "south-east"))
    trained = learn()
    assert len(trained.corpora.train[0].cache) == 2 * (160 - 24 - 6 + 1)
    text, _ = asked(form="jsonl")
    records = [json.loads(line) for line in text.splitlines()]
    assert len(records) == 12
    assert (records[0]["shop"], records[6]["shop"]) == ("north", "south-east")
    assert set(records[0]["warm"]) == {"mean", "quantiles"}
    assert list(records[0]["warm"]["quantiles"]) == ["0.1", "0.5", "0.9"]
    write_series(place / "b.csv", shops=("west",), steps=40)
    text, notes = asked("b.csv")
    assert text.splitlines()[1].startswith("2024-01-02 16:00:00,west,")
    assert any("not in training, so scaled by their own values: 'west'" in note for note in notes)
    text, _ = asked("b.csv", form="tsv")
    assert text.splitlines()[0].split("\t")[:3] == ["date", "shop", "warm"]


def test_files_of_their_own_look_back_into_the_one_before(place: Path) -> None:
    """A file that goes on where training's ended has a window from its first step on; another needs its look-back."""
    write_series(place / "v.csv", steps=20, after=200)
    write_series(place / "t.csv", steps=20, after=220)
    trained = learn(valid=("v.csv",), test=("t.csv",))
    assert len(trained.corpora.train[0].cache) == 200 - 24 - 6 + 1
    assert [len(cache) for cache in (*trained.corpora.valid, *trained.corpora.test)] == [15, 15]
    write_series(place / "t.csv", steps=40, after=500)
    trained = learn("other", valid=("v.csv",), test=("t.csv",))
    assert [len(cache) for cache in trained.corpora.test] == [40 - 24 - 6 + 1]


KNOWN = 'targets = ["warm", "wet"]\nknown = ["phase"]\ncalendar = ["hour"]'


def test_what_is_known_ahead_must_be_known(place: Path) -> None:
    write_series(place / "a.csv", known=True)
    write_forecaster(place / "r.toml", KNOWN)
    learn()
    with pytest.raises(
        UserError, match=r"a\.csv:201: phase must be known for 6 steps after this one, and is for 0; add"
    ):
        asked()
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    for step in range(200, 206):
        day, hour = divmod(step, 24)
        lines.append(f"2024-01-{1 + day:02} {hour:02}:00:00,,,{step % 24}")
    (place / "b.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text, notes = asked("b.csv")
    assert not any("missing" in note for note in notes), "what is still to come is not missing"
    assert text.splitlines()[1].startswith("2024-01-09 08:00:00,")
    assert len(text.splitlines()) == 7
    # the forecast hangs on what is known of the future
    lines[-1] = lines[-1].rpartition(",")[0] + ",0"
    (place / "b.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert asked("b.csv")[0] != text


def test_rows_without_a_target_at_the_end_are_to_come(place: Path) -> None:
    """One file is learnt from and says what is known ahead: the horizon's rows are no part of the test."""
    write_series(place / "b.csv", known=True)
    rows = (place / "b.csv").read_text(encoding="utf-8").splitlines()
    ahead = [f"2024-01-{1 + step // 24:02} {step % 24:02}:00:00,,,{step % 24}" for step in range(200, 224)]
    (place / "a.csv").write_text("\n".join([*rows, *ahead]) + "\n", encoding="utf-8")
    trained = learn("hint")
    assert any(
        note.endswith("""warm, wet ends before phase; if what goes on is known ahead: --set 'task.known=["phase"]'""")
        for note in trained.corpora.notes
    )
    write_forecaster(place / "r.toml", KNOWN)
    whole, alone = learn(), learn("alone", data=("b.csv",))
    assert len(whole.corpora.train[0].cache) == len(alone.corpora.train[0].cache)
    assert len(whole.corpora.test[0]) == len(alone.corpora.test[0])
    assert any(note.endswith("24 rows at the end without warm, wet: to come") for note in whole.corpora.notes)
    assert asked()[0].splitlines()[1].startswith("2024-01-09 08:00:00,")


def test_validation_follows_a_training_file_whose_last_values_are_missing(place: Path) -> None:
    """They are to come only where no other file goes on behind them."""
    write_series(place / "v.csv", steps=60, after=200)
    whole = learn("whole", valid=("v.csv",))
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    lines[-5:] = [line.split(",")[0] + ",," for line in lines[-5:]]
    (place / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    holed = learn("holed", valid=("v.csv",))
    assert len(holed.corpora.valid[0]) == len(whole.corpora.valid[0]) == 60 - 6 + 1
    note = "a.csv: 5 rows at the end without warm, wet: missing, as v.csv goes on behind them"
    assert note in holed.corpora.notes
    # a file that begins with what was to come follows what is left
    write_series(place / "v.csv", steps=65, after=195)
    again = learn("again", valid=("v.csv",))
    assert len(again.corpora.valid[0]) == 65 - 6 + 1
    assert "a.csv: 5 rows at the end without warm, wet: to come" in again.corpora.notes


def test_a_forecast_begins_behind_the_last_value(place: Path) -> None:
    learn()
    text, notes = asked()
    with (place / "a.csv").open("a", encoding="utf-8") as file:
        file.write("2024-01-09 08:00:00,,\n2024-01-09 09:00:00,,\n")
    assert asked() == (text, notes)


def test_series_that_training_had_no_names_for_are_named(place: Path) -> None:
    learn()
    write_series(place / "b.csv", shops=("north", "south"))
    text, _ = asked("b.csv")
    rows = [line.split(",")[:2] for line in text.splitlines()]
    assert rows[0] == ["date", "shop"]
    assert [rows[1][1], rows[7][1]] == ["north", "south"]


def test_missing_values_are_learnt_around(place: Path) -> None:
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    for row in (30, 31, 90, 170, 195):
        time, warm, _ = lines[row].split(",")
        lines[row] = f"{time},{warm},"
    (place / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    trained = learn()
    assert trained.corpora.task.sizes().source == 2  # the value, and whether it is missing
    assert any("values are missing in wet 5: masked" in note for note in trained.corpora.notes)
    text, _ = asked()
    assert all("nan" not in line for line in text.splitlines())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ["task.horizon=300"],
            r"a\.csv: the longest series has 160 steps for training, but a window needs task\.look_b",
        ),
        (["task.horizon=25"], r"a\.csv: 20 steps for valid, fewer than task\.horizon = 25"),
        (["task.targets=['cold']"], r"a\.csv:1: no column 'cold'; the columns are date, warm, wet"),
        (
            ["task.split.kind=steps", "task.split.train=300", "task.split.valid=1"],
            r"has 200 steps, but task\.split names",
        ),
        (["task.split.kind=dates", "task.split.valid=soon"], r"task\.split\.valid = 'soon' is no time such as"),
        (["training.smoothing=0.1"], r"training\.smoothing.*a forecast is numbers"),
        (["model.output.quantiles=[]", "training.best=crps"], r"crps is of quantiles; name some"),
        (
            ["model.positions.kind=learned", "model.positions.length=5"],
            r"24 steps are read, which are 12 positions; set it so",
        ),
        (["model.output.kind=numbers"], r"it reads numbers .* and writes a horizon"),
    ],
)
def test_what_cannot_be_is_told(place: Path, changes: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        learn(changes=changes)


def test_a_column_that_never_changes_is_refused(place: Path) -> None:
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    flat = [lines[0], *(line.rpartition(",")[0] + ",7" for line in lines[1:])]
    (place / "a.csv").write_text("\n".join(flat) + "\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"a\.csv:2: wet never changes in the training part \(to a\.csv:161\).*\[\"warm\"\]"
    ):
        learn()


def test_dates_split_where_they_say(place: Path) -> None:
    dates = ["task.split.kind=dates", "task.split.valid=2024-01-07", "task.split.test=2024-01-08"]
    trained = learn(changes=dates)
    assert len(trained.corpora.train[0].cache) == 144 - 24 - 6 + 1
    assert [len(cache) for cache in (*trained.corpora.valid, *trained.corpora.test)] == [24 - 6 + 1, 32 - 6 + 1]


def test_other_files_are_refused_with_what_differs(place: Path) -> None:
    learn()
    write_series(place / "short.csv", steps=10)
    with pytest.raises(UserError, match=r"short\.csv: 10 steps, but the model looks back 24; give more of it"):
        asked("short.csv")
    (place / "days.csv").write_text("date,warm,wet\n2024-01-01,1,2\n2024-01-02,2,3\n2024-01-03,3,4\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"days\.csv: its steps are 1 day apart, those that run learnt from 1 hour"):
        asked("days.csv")
    (place / "c.csv").write_text("date,warm\n2024-01-01,1\n2024-01-02,2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"c\.csv:1: no column 'wet'"):
        asked("c.csv")
    with pytest.raises(UserError, match=r"--beam: a forecast is not searched for"):
        asked(unused=["--beam"])
    with pytest.raises(UserError, match=r"--picture next\.png: a picture is SVG"):
        asked(picture=Path("next.png"))
    with pytest.raises(UserError, match="this model forecasts series, and reads no text"):
        load("run").predict("hello")


def test_python_has_the_numbers(place: Path) -> None:
    learn()
    (one,) = load("run").forecast("a.csv")
    assert isinstance(one, Forecast)
    assert one.mean.shape == (6, 2)
    assert (one.quantile(0.9) >= one.quantile(0.1)).all()
    with pytest.raises(UserError, match=r"there is no quantile 0\.2; the model was trained for 0\.1, 0\.5, 0\.9"):
        one.quantile(0.2)
    with pytest.raises(UserError, match="forecast: this model reads no text: there are no words to represent"):
        load("run").represent("north")
    (both,) = load(["run", "run"]).forecast("a.csv")
    np.testing.assert_allclose(both.said_HCQ, one.said_HCQ)


def test_without_a_recipe_a_series_is_forecast(place: Path) -> None:
    write_series(place / "a.csv", steps=400)
    trained = learn(recipe=None, changes=["training.steps=2", "training.threads=1"])
    task = trained.recipe.task
    assert task.kind == "forecast"
    assert (task.horizon, task.look_back) == (20, 100)
    assert trained.recipe.model.output.kind == "horizon"


def test_check_tells_what_is_odd(place: Path) -> None:
    lines = (place / "a.csv").read_text(encoding="utf-8").splitlines()
    lines[50] = f"{lines[50].split(',')[0]},9999,"
    (place / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = check(Command("r.toml", ("a.csv",)))
    text = found.text()
    assert not found.report.faulty
    assert "training: 131 examples" in text
    assert "more than 10 deviations from training's mean: 1" in text
    assert "a.csv:51  warm = 9999" in text
    assert "a.csv:51  wet" in text
    assert "training would be: forecast" in text
    lines[60] = lines[59]
    (place / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    faulty = check(Command("r.toml", ("a.csv",)))
    assert faulty.report.faulty
    assert "a.csv:61" in faulty.text()


def test_a_run_begins_from_another_and_measures_only_new_series(place: Path) -> None:
    write_series(place / "a.csv", shops=("north",))
    learn()
    write_series(place / "b.csv", shops=("north", "far-south"))
    began = learn("next", ("b.csv",), start=Path("run"))
    assert isinstance(began.corpora.task, ForecastTask)
    first, other = (load(run).task for run in ("run", "next"))
    assert isinstance(first, ForecastTask)
    assert isinstance(other, ForecastTask)
    assert other.scales.of["north"] == first.scales.of["north"]
    values_T = np.array([float(line.split(",")[2]) for line in (place / "b.csv").read_text().splitlines()[201:361]])
    assert other.scales.of["far-south"].mean_C[0] == pytest.approx(values_T.mean())  # 160 steps: the training part


def test_what_means_nothing_for_series_is_refused_or_said(place: Path) -> None:
    with pytest.raises(UserError, match=r"a\.csv: --source and --target are of pairs; say which columns are forecast"):
        learn(target="wet")
    text = (place / "r.toml").read_text(encoding="utf-8")
    (place / "w.toml").write_text(text + '[[data.corpora]]\nfiles = ["a.csv"]\nweight = 2.0\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.csv: weight = 2: series have no weights"):
        learn(data=(), recipe="w.toml")
    trained = learn(skip_bad=True)
    assert any("no row of a series can be left out" in note for note in trained.corpora.notes)


def test_too_few_rows_are_told_before_all_else(place: Path) -> None:
    """Also where a column never changes, of which it would be said otherwise what to leave out."""
    (place / "few.csv").write_text("date,a,b\n" + "".join(f"2024-01-0{day},{day},1\n" for day in range(1, 6)))
    with pytest.raises(UserError, match=r"^few\.csv: the longest series has 5 steps, too few .*give more rows$"):
        train(Command(data=("few.csv",), out=Path("few")), view="none")


def test_a_mean_of_models_is_said_to_be_one(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With next to no rate all models are the same, and their mean as good as the best."""
    learn(changes=["training.average=2", "training.validate_every=2", "training.optimiser.rate=1e-30"], view="lines")
    assert "the model is the mean of those of the last 2 validations" in capsys.readouterr().err
