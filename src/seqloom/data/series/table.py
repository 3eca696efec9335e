"""A table with a timestamp column → series of equal steps; every fault with its file and line."""
# T steps  C columns

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from seqloom.data.file_format import ending
from seqloom.data.reading.comma_separated import rows_of
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines, Stream
from seqloom.data.reading.numbers import LARGEST
from seqloom.data.series.columns import MISSING, SAMPLE, Columns, Wanted, columns_of, in_thousands
from seqloom.data.series.frequency import Frequency, frequency_of
from seqloom.data.series.timestamps import Times, TimeStyle, parse_times
from seqloom.settings.words import counted

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

SEPARATORS = "\t;,"
MOST_MISSING = 0.5  # of the steps: more rows missing than there are is no regular series
_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
ENDINGS = (".csv", ".tsv", ".tab", ".txt", "")


@dataclass(frozen=True)
class Series:
    """One series. values_TC: in the order of the table's columns, NaN where a value is missing."""

    name: str
    file: str
    times_T: Times
    values_TC: Floats
    lines_T: Longs
    """where each step stands; one whose row is missing has the line of the row behind it"""

    def __len__(self) -> int:
        return len(self.times_T)

    def place(self, step: int) -> str:
        return f"{self.file}:{self.lines_T[step]}"

    def past(self, targets: int) -> "Series":
        """Without the rows at its end that have none of the targets: they are what is to come."""
        seen = np.flatnonzero(~np.isnan(self.values_TC[:, :targets]).all(1))
        end = int(seen[-1]) + 1 if len(seen) else 0
        return replace(self, times_T=self.times_T[:end], values_TC=self.values_TC[:end], lines_T=self.lines_T[:end])


@dataclass(frozen=True)
class SeriesTable:
    """All series of a file, in the order in which they begin there."""

    file: str
    columns: Columns
    series: tuple[Series, ...]
    style: TimeStyle
    frequency: Frequency | None
    """None: no series has two steps"""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Raw:
    """The cells of a file, and the line of each row."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_table(file: str, wanted: Wanted, stream: Stream | None = None) -> SeriesTable:
    """A UserError at the first fault. stream: what is read instead of a file."""
    if stream is None and ending(file) not in ENDINGS:
        raise DataError(f"{file}: series are read from CSV or TSV; save the table as one")
    raw, name = _raw(file, stream)
    columns = columns_of(wanted, raw.header, raw.rows[:SAMPLE], f"{name}:1")
    at = {column: place for place, column in enumerate(raw.header)}
    cells = [row[at[columns.time]] for row in raw.rows]
    times_N, style = parse_times(cells, raw.lines, name, columns.time, wanted.time_format)
    values_NC = _numbers(raw, columns, wanted, name)
    names = [""] * len(raw.rows) if columns.series is None else [row[at[columns.series]].strip() for row in raw.rows]
    lines_N = np.array(raw.lines, np.int64)
    parts = [Series(one, name, times_N[rows], values_NC[rows], lines_N[rows]) for one, rows in _grouped(names).items()]
    for series in parts:
        _refuse_order(series, columns)
    frequency = _common_frequency(parts)
    regular = [_regular(series, frequency, wanted, parts) for series in parts]
    past = [series.past(len(columns.targets)) for series in regular]
    notes = [*columns.notes(name), *missing(past, columns, name, "masked, neither learnt nor scored")]
    return SeriesTable(name, columns, tuple(regular), style, frequency, tuple(notes))


def _raw(file: str, given: Stream | None) -> tuple[_Raw, str]:
    with Lines(file, keep_returns=True, stream=given) as stream:
        name = stream.name
        header, rows, lines = list[str](), list[list[str]](), list[int]()
        for line, row in rows_of(stream, 2, SEPARATORS):
            if isinstance(row, Broken):
                raise DataError(f"{name}:{line}: {row.what}; {row.fix}")
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = [cell.strip() for cell in row]
            elif len(row) != len(header):
                raise DataError(
                    f"{name}:{line}: expected {counted(len(header), 'column')}, found {len(row)}; "
                    "quote cells that hold the separator (a decimal comma too), or leave cells empty that are missing"
                )
            else:
                rows.append(row)
                lines.append(line)
    if not rows:
        what = "no row behind the names of the columns" if header else "empty"
        raise DataError(f"{name}: {what}; is it the right file?")
    return _Raw(header, rows, lines), name


def _numbers(raw: _Raw, columns: Columns, wanted: Wanted, file: str) -> Floats:
    at = {column: place for place, column in enumerate(raw.header)}
    values_NC = np.empty((len(raw.rows), len(columns.values)))
    for number, column in enumerate(columns.values):
        cells = [row[at[column]] for row in raw.rows]
        plain = list(map(_with_point, cells)) if wanted.decimal == "," else cells
        try:
            values_NC[:, number] = plain
        except ValueError:
            values_NC[:, number] = list(_one_by_one(plain, cells, raw.lines, column, file))
        _refuse_too_large(values_NC[:, number], cells, raw.lines, column, file)
    for number in range(len(columns.values) - len(columns.known), len(columns.values)):
        empty = np.flatnonzero(np.isnan(values_NC[:, number]))
        if len(empty):
            raise DataError(
                f"{file}:{raw.lines[int(empty[0])]}: {columns.values[number]}: has no value, and is said to be known "
                "ahead (task.known); fill it in, or name it in task.past"
            )
    return values_NC


def _refuse_too_large(values_N: Floats, cells: Sequence[str], lines: Sequence[int], column: str, file: str) -> None:
    large = np.flatnonzero(np.abs(values_N) > LARGEST)
    if len(large):
        row = int(large[0])
        what = f"{file}:{lines[row]}: {column}: {cells[row].strip()} is"
        if np.isinf(values_N[row]):
            raise DataError(f"{what} no number that can be learnt from; leave the cell empty if it is missing")
        raise DataError(f"{what} too large to be learnt from, beyond {LARGEST:g}; give the column in another unit")


def _with_point(cell: str) -> str:
    """What has a decimal comma, as float reads it; 1.234 would be a thousand there, and is left as no number."""
    return f"{cell}," if _POINT.fullmatch(cell.strip()) else cell.replace(",", ".")


def _one_by_one(
    plain: Sequence[str], cells: Sequence[str], lines: Sequence[int], column: str, file: str
) -> Iterator[float]:
    for text, cell, line in zip(plain, cells, lines, strict=True):
        if text.strip().lower() in MISSING:
            yield np.nan
            continue
        try:
            yield float(text)
        except ValueError:
            raise DataError(f"{file}:{line}: {column}: {cell.strip()!r} is no number; {_fix(cell)}") from None


def _fix(cell: str) -> str:
    if in_thousands(cell) or _POINT.fullmatch(cell.strip()):
        return "write it without what parts the thousands: 12345.6 (or 12345,6 with --set task.decimal=,)"
    comma = "," in cell and cell.replace(",", ".").replace(".", "").strip().lstrip("+-").isdecimal()
    return "--set task.decimal=, reads decimal commas" if comma else "leave the cell empty if it is missing"


def _grouped(names: Sequence[str]) -> dict[str, Longs]:
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: np.array(own, np.int64) for name, own in rows.items()}


def _refuse_order(series: Series, columns: Columns) -> None:
    """Times must rise."""
    gaps = np.diff(series.times_T).astype(np.int64)
    wrong = np.flatnonzero(gaps <= 0)
    if not len(wrong):
        return
    step = int(wrong[0]) + 1
    of = f" of {series.name}" if series.name else ""
    time, before = (str(series.times_T[at]).replace("T", " ").removesuffix(".000000") for at in (step, step - 1))
    if gaps[step - 1] == 0:
        fix = "keep one" if columns.series else "if there are several series, name their column: --set task.series=…"
        raise DataError(
            f"{series.place(step)}: the time {time}{of} stands at {series.place(step - 1)} too; {fix}. "
            "Where clocks were set back, write UTC"
        )
    raise DataError(
        f"{series.place(step)}: {time}{of} is before {before} at {series.place(step - 1)}; "
        f"sort the file by {columns.time}"
    )


def _common_frequency(parts: Sequence[Series]) -> Frequency | None:
    found: dict[Frequency, Series] = {}
    for series in parts:
        own = frequency_of(series.times_T)
        if own is not None:
            found.setdefault(own, series)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise DataError(
            f"{second.place(0)}: the steps of {second.name!r} are {other.name} apart, those of {first.name!r} "
            f"{one.name}; train on series with equal steps, or resample them"
        )
    return next(iter(found), None)


def _regular(series: Series, frequency: Frequency | None, wanted: Wanted, parts: Sequence[Series]) -> Series:
    """All steps of a series, those whose rows are missing too. parts: all series of the file."""
    if frequency is None:
        return series
    origin = series.times_T[0]
    places = frequency.places(series.times_T, origin)
    between = np.flatnonzero(places % 1)
    if len(between):
        step = int(between[0])
        raise DataError(
            f"{series.place(step)}: {_time(series, step)} is not {frequency.name} or several behind "
            f"{_time(series, step - 1)}: the steps are not equally far apart; "
            f"resample the series to steps of {frequency.name}"
        )
    at_T = places.astype(np.int64)
    holes = np.flatnonzero(np.diff(at_T) > 1)
    if not len(holes):
        return series
    missing = int(at_T[-1]) + 1 - len(series)
    step = int(holes[0]) + 1
    if wanted.gaps == "stop" or missing > MOST_MISSING * (at_T[-1] + 1):
        count = counted(int(at_T[step] - at_T[step - 1]) - 1, "row")
        if wanted.gaps == "stop":
            total = sum(_lost(one, frequency) for one in parts)
            fix = "fill them in; a run that is trained with --set task.gaps=missing takes such steps as missing values"
        else:
            total, fix = missing, "more rows are missing than are there; resample the series"
        raise DataError(
            f"{series.place(step)}: {_time(series, step)} comes behind {_time(series, step - 1)}, where steps are "
            f"{frequency.name} apart: {count} missing ({total:,} in all); {fix}"
        )
    if wanted.known:
        raise DataError(
            f"{series.place(step)}: a row before it is missing, and with it what is known ahead (task.known); "
            "fill it in"
        )
    return _filled(series, frequency, at_T)


def _lost(series: Series, frequency: Frequency) -> int:
    """How many of its rows are missing."""
    places = frequency.places(series.times_T, series.times_T[0])
    return max(0, int(places[-1]) + 1 - len(series))


def _filled(series: Series, frequency: Frequency, places: Longs) -> Series:
    count = int(places[-1]) + 1
    values_TC = np.full((count, series.values_TC.shape[1]), np.nan)
    values_TC[places] = series.values_TC
    lines_T = series.lines_T[np.searchsorted(places, np.arange(count))]
    return replace(
        series, times_T=frequency.after(series.times_T[0], np.arange(count)), values_TC=values_TC, lines_T=lines_T
    )


def _time(series: Series, step: int) -> str:
    return str(series.times_T[step]).replace("T", " ").removesuffix(".000000")


def missing(parts: Sequence[Series], columns: Columns, file: str, done: str) -> Iterator[str]:
    """How many values are missing, of which columns. done: what comes of them."""
    total = sum(np.isnan(series.values_TC).sum(0) for series in parts)
    steps = sum(map(len, parts))
    which = [
        f"{name} {int(count):,}"
        for name, count in zip(columns.values, np.asarray(total).tolist(), strict=True)
        if count
    ]
    if which:
        yield f"{file}: of {steps:,} steps, values are missing in {', '.join(which)}: {done}"
