"""Forecasts, looked at."""

from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.data.reading.text_stream import TextStream
from seqloom.inspect.changes import LayerChange, TokenChange
from seqloom.jobs.answering.forecasting import read_asked
from seqloom.jobs.look import Look, LookRequest, kind_of
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from tests.jobs.look_checks import check_documents
from tests.jobs.series import write_forecaster, write_series


def _learnt(folder: Path, name: str, data: Path, more: str = "") -> Model:
    recipe = write_forecaster(folder / f"{name}.toml", more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        seqloom.train(recipe, data=data, out=folder / name, view="none")
    return seqloom.load(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("looked")


@pytest.fixture(scope="module")
def table(folder: Path) -> Path:
    return write_series(folder / "a.csv")


@pytest.fixture(scope="module")
def model(folder: Path, table: Path) -> Model:
    return _learnt(folder, "run", table)


def _values(table: Path) -> list[list[float]]:
    return [[float(cell) for cell in line.split(",")[1:]] for line in table.read_text().splitlines()[1:]]


def test_a_table_is_forecast_as_a_file_is(model: Model, table: Path) -> None:
    look = Look(model, LookRequest(table.read_text()))
    found, (said,) = look.answer().forecast, model.forecast(table)
    assert found is not None
    assert kind_of(model) == "forecast"
    assert (found.times, found.names, found.levels) == (said.times, said.columns, said.levels)
    assert found.point == tuple(map(tuple, said.mean.tolist()))
    assert found.quantiles[2][1] == tuple(said.said_HCQ[2, 1, 1:].tolist())
    assert len(found.history) == len(found.past) == 24
    assert found.history[-1] == tuple(_values(table)[-1])
    assert look.trace().notes == ("The columns are read one by one; this is warm",)
    check_documents(look)


def test_numbers_alone(model: Model, table: Path) -> None:
    whole = Look(model, LookRequest(table.read_text())).answer().forecast
    plain = Look(model, LookRequest(_values(table))).answer().forecast
    assert whole is not None
    assert plain is not None
    assert plain.point == whole.point
    times = [line.split(",")[0] for line in table.read_text().splitlines()[1:]]
    timed = Look(model, LookRequest({"values": _values(table), "times": times})).answer().forecast
    assert timed == whole
    names = ["date", "warm", "wet"]
    rows = [dict(zip(names, [time, *row], strict=True)) for time, row in zip(times, _values(table), strict=True)]
    assert Look(model, LookRequest({"rows": rows})).answer().forecast == whole


def test_what_is_traced_is_what_is_said(model: Model, table: Path) -> None:
    """The traced row is the column that was asked for: its numbers, scaled back, are the forecast."""
    text = table.read_text()
    for number, name in enumerate(("warm", "wet")):
        look = Look(model, LookRequest({"csv": text, "column": name}))
        found = look.answer().forecast
        assert found is not None
        forecaster = model.forecaster("it")
        longer, start = forecaster.with_future(_series(model, text))
        examples, scale = forecaster.window(longer, start)
        batch = forecaster.task.batch(examples)
        z_HQ = look.traced.scores * batch.spread_BC[0, number] + batch.level_BC[0, number]
        own = z_HQ[:, 0].double() * scale.deviation_C[number] + scale.mean_C[number]
        assert own.tolist() == pytest.approx([row[number] for row in found.point], rel=1e-4)


def _series(model: Model, text: str) -> Any:
    return read_asked(model.forecaster("it").task, "input", "run", TextStream("input", text))[0].series[0]


def test_changes(model: Model, table: Path) -> None:
    before = Look(model, LookRequest(table.read_text())).answer()
    change = LayerChange(box="encoder.blocks.0.mixer")
    assert Look(model, LookRequest(table.read_text(), changes=(change,))).answer() != before
    assert Look(model, LookRequest(table.read_text())).answer() == before


def test_several_series_that_know_the_calendar(folder: Path) -> None:
    table = write_series(folder / "shops.csv", shops=("north", "south"))
    model = _learnt(folder, "shops", table, 'series = "shop"\nchannels = "together"\ncalendar = ["hour"]')
    both = model.forecast(table)
    look = Look(model, LookRequest({"csv": table.read_text(), "series": "south"}))
    found = look.answer().forecast
    assert found is not None
    assert found.point == tuple(map(tuple, both[1].mean.tolist()))
    assert look.trace().notes == ()
    check_documents(look)
    with pytest.raises(UserError, match="no series 'west'; there are north, south"):
        Look(model, LookRequest({"csv": table.read_text(), "series": "west"})).answer()
    with pytest.raises(UserError, match="knows the calendar; give a table with its times"):
        Look(model, LookRequest([[1.0, 2.0]] * 30)).answer()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "input: empty"),
        ("date,warm,wet\n2024-01-01,1,2\n", "1 step, but the model looks back 24"),
        ([1.0, 2.0], "1 number in each row, but the model knows warm, wet"),
        ([[1.0, 2.0]] * 3, "3 steps, but the model looks back 24"),
        ([["a", 1.0]], "step 1 is 'a', no number"),
        ({"values": [[1.0, 2.0]], "times": ["2024-01-01", "2024-01-02"]}, "1 row of values need as many times"),
        ({"values": [[1.0, 2.0]], "time": 1}, "no 'time'; did you mean 'times'"),
        ({"series": "a"}, "one of them"),
        ({"csv": 5}, "csv should be text"),
        ("date,warm,wet\n\ud800,1,2\n", "surrogate"),
        ({"rows": [[1, 2]]}, "rows should be a list of objects"),
        ({"csv": "date,warm,wet\n", "column": "dry"}, "no row behind the names"),
    ],
)
def test_what_is_wrong_is_said(model: Model, given: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Look(model, LookRequest(given)).answer()


def test_what_a_forecast_has_not(model: Model, table: Path) -> None:
    with pytest.raises(UserError, match="no column 'dry'; there are warm, wet"):
        Look(model, LookRequest({"csv": table.read_text(), "column": "dry"})).answer()
    with pytest.raises(UserError, match="target: a forecast is compared"):
        Look(model, LookRequest(table.read_text(), target="1")).answer()
    with pytest.raises(UserError, match="reads numbers, not tokens"):
        Look(model, LookRequest(table.read_text(), changes=(TokenChange(place=0, text="a"),))).answer()
