"""Forecasts for other programs: a table that goes on where the file ended, or JSON, a line a step."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from seqloom.data.series.columns import Columns
from seqloom.jobs.answering.forecasting import Forecast
from seqloom.jobs.lines.json_line import json_line

Form = Literal["text", "tsv", "jsonl"]
"""text: comma-separated"""


def forecast_text(forecasts: Sequence[Forecast], columns: Columns, form: Form) -> str:
    """All steps of all forecasts, in the file's own names and in the way it writes times."""
    if form == "jsonl":
        return "".join(json_line(record) for one in forecasts for record in _records(one, columns))
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
    names = [name for column in columns.targets for name in _names(column, forecasts[0].levels)]
    writer.writerow([columns.time, *([columns.series] if columns.series else []), *names])
    for one in forecasts:
        for time, said_CQ in zip(one.times, one.said_HCQ.tolist(), strict=True):
            numbers = [f"{number:.7g}" for said_Q in said_CQ for number in said_Q]
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
