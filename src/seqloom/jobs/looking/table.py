"""A file of series as what a forecast is asked: of its first series, the rows that the model reads."""
# T steps

from collections.abc import Callable
from typing import Any

import numpy as np

from seqloom.jobs.answering.forecasting import read_asked
from seqloom.jobs.model import Model
from seqloom.settings.words import counted


def table_input(model: Model, file: str, note: Callable[[str], None]) -> dict[str, Any]:
    """As `forecast.py` takes it. note: is told what should be known of the file."""
    forecaster = model.forecaster(file)
    task = forecaster.task
    table, notes = read_asked(task, file, str(model.opened[0].run.path))
    for line in notes:
        note(line)
    series = table.series[0]
    if len(table.series) > 1:
        note(f"{file}: {counted(len(table.series), 'series', 'series')}; shows the first, {series.name!r}")
    _, start = forecaster.with_future(series)  # for its errors, which name the file
    # a series that training did not know is scaled by all that there is of it
    first = start - task.settings.look_back if task.scales.scale_of(series)[1] else 0
    rows = slice(first, start + task.settings.horizon)
    values = [[None if np.isnan(value) else value for value in row] for row in series.values_TC[rows].tolist()]
    named = {"series": series.name} if series.name else {}
    return {"values": values, "times": list(table.style.write(series.times_T[rows])), **named}
