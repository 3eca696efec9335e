"""Tables of series over HTTP, and what comes after their end."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from seqloom.data.reading.text_stream import TextStream
from seqloom.jobs.answering.forecast_rows import rows_text
from seqloom.jobs.answering.forecasting import Forecast, read_asked
from seqloom.serving.desk import Desk
from seqloom.serving.errand import errand
from seqloom.serving.given import Given
from seqloom.serving.log import Log
from seqloom.serving.refusal import RefusalError
from seqloom.tasks.forecast import ForecastTask

FORMS = '{"csv": "date,sales\\n2024-12-31,5\\n…"} or {"rows": [{"date": "2024-12-31", "sales": 5}, …]}'


class CsvTable(Given):
    """A table of series as the text of a file, for a model that forecasts."""

    csv: str
    """with the names of the columns in its first line, as the file that was trained on"""
    id: str | int | None = None
    """stands in its answers too"""


class RowsTable(Given):
    """The same as a list of rows."""

    rows: list[dict[str, str | int | float | None]] = Field(min_length=1)
    """each step with its time, and what is known of it; null, or left out: it is missing"""
    id: str | int | None = None
    """stands in its answers too"""


Table = CsvTable | RowsTable


async def forecasts(desk: Desk, inputs: Sequence[object], log: Log) -> tuple[list[list[dict[str, Any]]], list[str]]:
    """Of each table the forecast of each series; and what should be known of the tables."""
    desk.promise(len(inputs))
    try:
        async with errand(desk, lambda: _all(desk, inputs), log, promised=True) as hearing:
            found: tuple[list[list[dict[str, Any]]], list[str]] = await hearing.only()
            return found
    finally:
        desk.forgo(len(inputs))


def _all(desk: Desk, inputs: Sequence[object]) -> Iterator[Any]:
    """In the desk's own thread, a table at a time."""
    found, notes = list[list[dict[str, Any]]](), list[str]()
    for place, given in enumerate(inputs, 1):
        if not isinstance(given, Table):
            raise RefusalError(422, f"input {place}: this model forecasts tables; send {FORMS}")
        each, more = _one(desk, f"input {place}", given)
        named = {} if given.id is None else {"id": given.id}
        found.append([named | one for one in each])
        notes += more
        yield None
    desk.counts.add(desk.name, len(inputs))
    yield found, notes


def _one(desk: Desk, name: str, given: Table) -> tuple[list[dict[str, Any]], list[str]]:
    task = desk.model.task
    assert isinstance(task, ForecastTask)
    text = given.csv if isinstance(given, CsvTable) else rows_text(name, given.rows, task.settings.decimal)
    table, notes = read_asked(task, name, desk.name, TextStream(name, text))
    forecaster = desk.model.forecaster(desk.name)
    return [_said(one) for one in forecaster.after(table)], notes


def _said(one: Forecast) -> dict[str, Any]:
    said_HCQ = one.said_HCQ
    values = {
        column: {
            "mean": said_HCQ[:, at, 0].tolist(),
            "quantiles": {f"{level:g}": said_HCQ[:, at, 1 + q].tolist() for q, level in enumerate(one.levels)},
        }
        for at, column in enumerate(one.columns)
    }
    return {"series": one.series, "times": list(one.times), "values": values}
