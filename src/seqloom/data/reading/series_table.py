"""Series in a table: a row for each step, with the name of its series; or a row for each series.

series,time,x,y,label            x1,y1,x2,y2,label        with step = 2
a,0,0.1,0.9,walking              0.1,0.9,0.2,0.8,walking
a,1,0.2,0.8,walking
"""
# T steps  C channels

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, dropwhile, groupby, islice
from typing import Any

import numpy as np

from seqloom.data.reading.block import Rows
from seqloom.data.reading.columns import absent
from seqloom.data.reading.comma_separated import Row, rows_of
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.numbers import number_of, numbers_of
from seqloom.data.reading.series_rows import UNLABELLED, One, broken, gathered
from seqloom.data.settings import Corpus

SAMPLE = 20
"""Rows that tell whether the first names the columns."""
FEW, FEWEST = 5, 4
"""Rows that tell what a table is; readings in a row that are a series: fewer are more likely something else."""
SURE = 0.9
"""The share of cells that are numbers in a table that names its series and its times."""
SERIES = ("series", "series_id", "sequence", "sequence_id", "trial", "case", "unique_id", "id")
TIME = ("time", "timestamp", "datetime", "date", "step", "t", "frame", "ds")
LABEL = ("label", "class", "target", "category")  # y is a coordinate as often

Numbered = tuple[int, Row]


@dataclass(frozen=True)
class _Places:
    """The columns: their names, and which of them is what."""

    names: tuple[str, ...]
    header: bool
    series: int | None
    time: int | None
    label: int | None
    features: tuple[int, ...]

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels of a table of steps."""
        return tuple(self.names[at] for at in self.features) if self.header and self.series is not None else ()


def read_series_table(corpus: Corpus, separators: str, labelled: bool = True) -> Iterator[Rows]:
    with Lines(corpus.files[0], keep_returns=True) as file:
        rows = rows_of(file, 2, separators)
        head = list(islice(dropwhile(lambda numbered: not any(_cells(numbered[1])), rows), SAMPLE))
        if not head:
            return
        places = _places(corpus, [_cells(row) for _, row in head], f"{file.name}:{head[0][0]}", labelled)
        every = ((line, row) for line, row in chain(head[int(places.header) :], rows) if _cells(row) or row)
        series: Iterator[One]
        if places.series is None:
            series = (_whole(line, row, places, corpus.step, labelled) for line, row in every)
        else:
            series = _by_steps(every, places, labelled)
        yield from gathered(file.name, series, lambda: file.consumed, places.channels, places.series is not None)


def looks_like_readings(corpus: Corpus, separators: str) -> bool:
    """A label, and beside it numbers alone: of the steps of named series, or of a whole series in each row."""
    with Lines(corpus.files[0], keep_returns=True) as file:
        rows = [_cells(row) for _, row in islice(rows_of(file, 2, separators), SAMPLE + 1)]
    full = [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(full) < FEW or not _has_names(rows[0], full):
        return False
    try:
        places = _places(corpus, rows, "", True)
    except DataError:
        return False
    if places.label is None or (corpus.target is None and places.names[places.label].lower() not in LABEL):
        return False
    numbers = [number_of(row[at]) is not None for row in full for at in places.features]
    if places.series is None:
        return len(places.features) >= FEWEST and all(numbers)
    # names of series and times say enough: a few cells that are no numbers are faults of it, and told as such
    return sum(numbers) >= SURE * len(numbers) > 0


def _cells(row: Row) -> list[str]:
    return row if isinstance(row, list) else []


def _places(corpus: Corpus, head: list[list[str]], place: str, labelled: bool) -> _Places:
    first = [cell.strip() for cell in head[0]]
    header = _has_names(first, head[1:]) if corpus.header is None else corpus.header
    series = _position(corpus.series, SERIES, first, header, place)
    time = _position(corpus.time, TIME, first, header, place)
    if corpus.series is None and corpus.time is None and (series is None or time is None):
        series = time = None  # a name alone may be that of a row
    label = _label_place(corpus, first, header, place, labelled)
    if label is None and labelled:
        label = next((at for at in reversed(range(len(first))) if at not in (series, time)), None)
    taken = {series, time, label}
    features = [_position(name, (), first, header, place) for name in corpus.features]
    rest = tuple(at for at in features if at is not None) or tuple(at for at in range(len(first)) if at not in taken)
    if not rest:
        raise DataError(f"{place}: no column is left for readings beside the label; is it the right file?")
    return _Places(tuple(first), header, series, time, label, rest)


def _label_place(corpus: Corpus, first: Sequence[str], header: bool, place: str, labelled: bool) -> int | None:
    """None: nothing names it; or it is not there, and nobody asks for it."""
    try:
        return _position(corpus.target, LABEL, first, header, place)
    except DataError:
        if labelled:
            raise
        return None


def _has_names(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether some column has a word above numbers."""
    full = [row for row in others if len(row) == len(first)]
    return bool(full) and any(
        number_of(name) is None and all(number_of(row[at]) is not None for row in full) for at, name in enumerate(first)
    )


def _position(name: str | None, usual: Sequence[str], first: Sequence[str], header: bool, place: str) -> int | None:
    plain = [cell.lower() for cell in first] if header else []
    if name is None:
        return next((plain.index(one) for one in usual if one in plain), None)
    if header and name in first:
        return list(first).index(name)
    if name.isdigit() and 0 < int(name) <= len(first):
        return int(name) - 1
    raise absent(name, first if header else tuple(map(str, range(1, len(first) + 1))), place)


def _whole(line: int, row: Row, places: _Places, step: int, labelled: bool) -> One:
    """A series in a row."""
    if isinstance(row, Broken):
        return One(line, row, row)
    wrong = _width_fault(row, places)
    if wrong is not None:
        return broken(line, "another number of columns", wrong)
    x = numbers_of([row[at] for at in places.features])
    if isinstance(x, Broken):
        return broken(line, x.reason, x.what, x.fix)
    if len(x) % step:
        what = f"{len(x)} readings are no whole steps of {step}"
        fix = "mend the line, or name the label's column: target = … in the recipe's [[data.corpora]]"
        return broken(line, "no whole steps", what, fix)
    return One(line, x.reshape(-1, step), _label(row, places, labelled))


def _by_steps(rows: Iterator[Numbered], places: _Places, labelled: bool) -> Iterator[One]:
    """Rows that stand together and name the same series are its steps."""
    seen: set[str] = set()
    for name, steps in groupby(rows, key=lambda numbered: _name(numbered[1], places)):
        numbered = list(steps)
        line = numbered[0][0]
        if not name:
            first = numbered[0][1]
            yield One(line, first, first) if isinstance(first, Broken) else _unnamed(line, first, places)
        elif name in seen:
            what = f"the series {name!r} goes on here, but other series stand between its steps"
            yield broken(line, "a series in parts", what, "sort the table by series, then by time")
        else:
            seen.add(name)
            yield _one_series(name, numbered, places, labelled)


def _unnamed(line: int, row: list[str], places: _Places) -> One:
    wrong = _width_fault(row, places)
    return broken(line, "no series", wrong or "the step names no series")


def _name(row: Row, places: _Places) -> str:
    assert places.series is not None
    return row[places.series].strip() if isinstance(row, list) and len(row) == len(places.names) else ""


def _one_series(name: str, rows: list[Numbered], places: _Places, labelled: bool) -> One:
    steps, before = [], None
    begins = rows[0][0]
    label = _label(_cells(rows[0][1]), places, labelled)
    for line, row in rows:
        cells = _cells(row)
        x_C = numbers_of([cells[at] for at in places.features])
        if isinstance(x_C, Broken):
            column = next(at for at in places.features if number_of(cells[at]) is None)
            return broken(
                line, x_C.reason, f"{cells[column]!r} in column {_column(places, column)} is no number", x_C.fix
            )
        if labelled and _label(cells, places, labelled) != label:
            own = _label(cells, places, labelled)
            what = f"the label is {own!r}, but the series {name!r}, which begins at line {begins}, is {label!r}"
            return broken(line, "several labels", what, "a series has one label")
        now = None if places.time is None else _time(cells[places.time])
        wrong = None if places.time is None else _time_fault(before, now, cells[places.time])
        if wrong is not None:
            return broken(
                line, "times that do not rise", f"{wrong} in the series {name!r}", "sort by series, then by time"
            )
        steps.append(x_C)
        before = now
    return One(begins, np.stack(steps), label)


def _column(places: _Places, at: int) -> str:
    return places.names[at] if places.header else str(at + 1)


def _width_fault(row: list[str], places: _Places) -> str | None:
    expected = len(places.names)
    return None if len(row) == expected else f"expected {expected} columns, found {len(row)}"


def _label(cells: list[str], places: _Places, labelled: bool) -> str:
    return cells[places.label].strip() if labelled and places.label is not None else UNLABELLED


def _time(cell: str) -> Any:
    """A number, or a timestamp of ISO 8601; None: neither."""
    value = number_of(cell)
    if value is not None:
        return None if np.isnan(value) else value
    try:
        return datetime.fromisoformat(cell.strip())
    except ValueError:
        return None


def _time_fault(before: Any, now: Any, cell: str) -> str | None:
    if now is None:
        return f"{cell!r} is neither a number nor a timestamp such as 2024-05-01T12:00:00"
    if before is None:
        return None
    try:
        rises = now > before
    except TypeError:  # a number behind a timestamp, or one with a time zone behind one without
        return f"the time {cell!r} is of another kind than the one before it"
    return (
        None if rises else f"the time {cell!r} {'comes twice' if now == before else 'is earlier than the one before'}"
    )
