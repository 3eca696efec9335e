"""Forecasts, looked at: what a window became, and what the model says comes behind it."""
# T steps  L look-back  H horizon  C targets  Q mean and quantiles  S steps that are read  F numbers of a step

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import series_of
from seqloom.data.reading.text_stream import TextStream
from seqloom.data.series.table import Series
from seqloom.data.series.timestamps import TimeStyle, parse_times
from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change
from seqloom.inspect.trace import Example
from seqloom.jobs.answering.answer import text_fault
from seqloom.jobs.answering.forecast_rows import rows_text
from seqloom.jobs.answering.forecasting import Forecast, read_asked
from seqloom.jobs.looking.documents import AnswerDocument, ForecastDocument
from seqloom.jobs.looking.places import reading_places
from seqloom.jobs.looking.subject import Subject
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.settings.words import counted, nearest, show
from seqloom.tasks.forecast import ForecastTask, WindowBatch

NAME = "input"
FIRST = np.datetime64("2000-01-03", "us")
"""Where a series begins of which no times are given: a Monday."""
TABLES = ("csv", "table", "rows", "values")
"""csv and table are the same, and a text."""
KEYS = (*TABLES, "times", "series", "column", "id")


def forecast_subject(model: Model, given: Any, target: Any, changes: Sequence[Change]) -> Subject:
    """given: a table with times, as CSV text; or numbers alone, a row a step; or an object with csv, rows, or values
    and times; and perhaps series, of a table of several, and column, of those that are read one by one.
    """
    if target is not None:
        raise UserError("target: a forecast is compared with what came by `seqloom evaluate`; leave it out")
    forecaster = model.forecaster(NAME)
    task = forecaster.task
    parts = given if isinstance(given, Mapping) else {"csv" if isinstance(given, str) else "values": given}
    _refuse_keys(parts)
    series, style = _series(model, task, parts)
    longer, start = forecaster.with_future(series)
    examples, _ = forecaster.window(longer, start)
    batch = task.batch(examples)
    assert isinstance(batch, WindowBatch)
    row, notes = _row(task, parts.get("column"))
    read_SF = batch.read_RSF[row]
    with model.named(), changed(model.networks[0], changes):
        found = forecaster.at(longer, start, style)
    document = _document(found, task, style)

    def said(scores: Tensor) -> AnswerDocument:
        """All columns are said at once, whichever of them is looked at."""
        return AnswerDocument("", 0.0, source, forecast=document)

    source = reading_places(model.networks[0].settings.input, len(read_SF))
    names = found.columns if not task.apart else (found.columns[row],)
    return Subject(Example(read_SF), said, lambda: names, source, notes=notes)


def _refuse_keys(parts: Mapping[str, Any]) -> None:
    for name in parts:
        if name not in KEYS:
            near = nearest(str(name), KEYS)
            raise UserError(f"input: there is no {name!r}; " + (f"did you mean {near!r}?" if near else "see the docs"))
    if sum(name in parts for name in TABLES) != 1:
        raise UserError("input: a table is given as csv, a text, as rows, or as values without names; one of them")


def _series(model: Model, task: ForecastTask, parts: Mapping[str, Any]) -> tuple[Series, TimeStyle]:
    if "values" in parts:
        return _of_values(task, parts)
    text = _text(task, parts)
    if wrong := text_fault(text):
        raise UserError(f"input: {wrong}")
    table, _ = read_asked(task, NAME, str(model.opened[0].run.path), TextStream(NAME, text))
    wanted = parts.get("series")
    for series in table.series:
        if wanted is None or series.name == wanted:
            return series, table.style
    known = ", ".join(series.name for series in table.series[:8])
    there = f"there are {known}" if known else "the table has one, without a name: leave series out"
    raise UserError(f"input: there is no series {wanted!r}; {there}")


def _text(task: ForecastTask, parts: Mapping[str, Any]) -> str:
    text = parts.get("csv", parts.get("table"))
    if "rows" not in parts:
        if not isinstance(text, str):
            raise UserError(f"input: csv should be text, but is {show(text)}")
        return text
    rows = parts["rows"]
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"input: rows should be a list of objects, a column's name before each value, not {show(rows)}")
    return rows_text(NAME, rows, task.settings.decimal)


def _of_values(task: ForecastTask, parts: Mapping[str, Any]) -> tuple[Series, TimeStyle]:
    scales, values = task.scales, series_of(parts["values"])
    if isinstance(values, Broken):
        raise UserError(f"input: {values.what}")
    columns = scales.columns.values
    if values.shape[1] != len(columns):
        raise UserError(
            f"input: {counted(values.shape[1], 'number')} in each row, but the model knows {', '.join(columns)}; "
            "give them in this order"
        )
    times, style = parts.get("times"), scales.style
    if times is None and scales.known:
        raise UserError("input: the model knows the calendar; give a table with its times, or times beside values")
    if times is None:
        times_T = scales.frequency.after(FIRST, np.arange(len(values)))
    elif not isinstance(times, list | tuple) or len(times) != len(values):
        raise UserError(f"input: {counted(len(values), 'row')} of values need as many times")
    else:
        lines = list(range(1, len(values) + 1))
        times_T, style = parse_times(list(map(str, times)), lines, NAME, "times", task.settings.time_format)
    name = str(parts.get("series") or "")
    return Series(name, NAME, times_T, values, np.arange(1, len(values) + 1)), style


def _row(task: ForecastTask, column: Any) -> tuple[int, tuple[str, ...]]:
    """Which of the rows of a batch is looked at; where columns are read apart, each is one."""
    names = task.scales.columns.targets
    if column is not None and column not in names:
        raise UserError(f"input: there is no column {column!r}; there are {', '.join(names[:8])}")
    if not task.apart or len(names) == 1:
        return 0, ()
    row = 0 if column is None else names.index(column)
    return row, (f"The columns are read one by one; this is {names[row]}",)


def _document(found: Forecast, task: ForecastTask, style: TimeStyle) -> ForecastDocument:
    before = task.settings.look_back
    return ForecastDocument(
        found.times,
        _rows(found.before_TC[-before:]),
        found.columns,
        _rows(found.mean),
        found.levels,
        tuple(tuple(tuple(each) for each in row) for row in found.said_HCQ[..., 1:].tolist()),
        tuple(style.write(found.times_T[-before:])),
    )


def _rows(values_TC: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, values_TC.tolist()))
