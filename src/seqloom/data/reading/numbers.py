"""Values of a file → real numbers, each fault with its place in the value."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seqloom.data.reading.faults import Broken
from seqloom.settings.words import show

MISSING = {"", "?", "nan", "na", "n/a", "null", "none"}
"""What stands in a file where a reading is missing, in small letters."""

LARGEST = 1e30
"""What lies beyond it, on either side of 0, is refused: its squares, and soon the number itself, are infinite."""


def number_of(cell: str) -> float | None:
    """NaN where the reading is missing; None: no number."""
    plain = cell.strip()
    if plain.lower() in MISSING:
        return math.nan
    try:
        value = float(plain)
    except ValueError:
        return None
    return None if math.isinf(value) or "_" in plain else value


def numbers_of(cells: Sequence[str]) -> np.ndarray | Broken:
    """A row of cells, x_C."""
    try:
        row = np.asarray(cells, np.float64)
    except ValueError:
        row = None
    if row is not None and np.isfinite(row).all() and not any("_" in cell for cell in cells):
        return row
    values = list(map(number_of, cells))
    if None in values:
        place = values.index(None)
        if None not in map(number_of, cells[place].split()):
            what = f"value {place + 1} is {show(cells[place])}, several numbers"
            return Broken("no number", what, "give each a column; pictures as text are read with --set task.reads=text")
        return _no_number(cells[place], f"value {place + 1}")
    return np.asarray(values, np.float64)


def series_of(value: Any) -> np.ndarray | Broken:
    """Lists of JSON: a list of steps, each a list of readings, or one reading alone; null is a missing one."""
    if not isinstance(value, list | tuple):
        return Broken("no series", f"the values should be a list of steps, but are {show(value)}")
    steps = [step if isinstance(step, list | tuple) else [step] for step in value]
    width = len(steps[0]) if steps else 0
    for number, step in enumerate(steps, 1):
        if len(step) != width or not width:
            what = f"step {number} has {_readings(len(step))}, but step 1 has {width}"
            return Broken("ragged steps", what if number > 1 else "step 1 has no readings")
        for reading in step:
            if reading is not None and (type(reading) not in (int, float) or reading in (math.inf, -math.inf)):
                return _no_number(reading, f"step {number}")
    try:
        return np.asarray([[math.nan if x is None else float(x) for x in step] for step in steps]).reshape(
            -1, max(width, 1)
        )
    except OverflowError:
        return Broken("no number", "a number that is too large", "mend it")


def _readings(count: int) -> str:
    return f"{count} reading" if count == 1 else f"{count} readings"


def _no_number(value: Any, place: str) -> Broken:
    return Broken("no number", f"{place} is {show(value)}, no number", "mend it")
