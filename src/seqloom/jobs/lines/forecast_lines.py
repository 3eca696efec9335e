"""Forecasts for other programs: a table that goes on where the file ended, or JSON, a line a step."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from seqloom.data.series.columns import Columns
from seqloom.jobs.answering.forecasting import Forecast
from seqloom.jobs.lines.json_line import json_line

Form = Literal["text", "tsv", "jsonl"]
"""text: a CSV"""


def forecast_text(forecasts: Sequence[Forecast], columns: Columns, form: Form, decimal: str) -> str:
    """All steps of all forecasts, in the file's own names and in the way it writes times and numbers.

    With decimal commas the cells stand between semicolons, as spreadsheets have it where these are usual.
    """
    if form == "jsonl":
        return "".join(json_line(record) for one in forecasts for record in _records(one, columns))
    file = io.StringIO()
    separator = "\t" if form == "tsv" else ";" if decimal == "," else ","
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    names = [name for column in columns.targets for name in _names(column, forecasts[0].levels)]
    writer.writerow([columns.time, *([columns.series] if columns.series else []), *names])
    for one in forecasts:
        for time, said_CQ in zip(one.times, one.said_HCQ.tolist(), strict=True):
            numbers = [f"{number:.7g}".replace(".", decimal) for said_Q in said_CQ for number in said_Q]
            writer.writerow([time, *([one.series] if columns.series else []), *numbers])
    return file.getvalue()


def _names(column: str, levels: Sequence[float]) -> list[str]:
    """The mean has the column's own name."""
    return [column, *(f"{column}_{level:g}" for level in levels)]


def _records(one: Forecast, columns: Columns) -> Iterator[dict[str, Any]]:
    for time, said_CQ in zip(one.times, one.said_HCQ.tolist(), strict=True):
        record: dict[str, Any] = {columns.time: time}
        if columns.series:
            record[columns.series] = one.series
        for column, (mean, *quantiles) in zip(columns.targets, said_CQ, strict=True):
            levels = {f"{level:g}": number for level, number in zip(one.levels, quantiles, strict=True)}
            record[column] = {"mean": mean} | ({"quantiles": levels} if levels else {})
        yield record
