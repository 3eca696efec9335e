"""Which columns of a table are the time, the name of a series, what is forecast, and what is known beside it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seqloom.data.reading.columns import absent
from seqloom.data.reading.faults import DataError
from seqloom.data.series.timestamps import looks_like_time

SAMPLE = 100
"""Rows that are looked at."""
SHOWN = 8
MOSTLY = 0.9
"""Of a column's cells, if so many are times, the others are faults."""

_TIMES = ("timestamp", "datetime", "date_time", "date", "time", "ds", "day", "week", "month", "quarter", "year")
_NAMES = ("unique_id", "series_id", "item_id", "series", "id")
_THOUSANDS = re.compile(
    r"[+-]?\d{1,3}"
    r"(?:([ \u00a0\u202f'’])\d{3}(?:\1\d{3})*(?:[.,]\d+)?|(,\d{3})+\.\d+|(\.\d{3})+,\d+|[,.]\d{3}([,.]\d{3})+)"
)
MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "?"}


@dataclass(frozen=True)
class Wanted:
    """What the settings say of a table; what they leave open is read off it.

    gaps: rows that are not there stop the reading, or are steps whose values are missing.
    """

    time: str | None = None
    series: str | None = None
    targets: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    time_format: str | None = None
    decimal: str = "."
    gaps: str = "stop"


@dataclass(frozen=True)
class Columns:
    """By name. targets: what is forecast; past: known up to now; known: known ahead too."""

    time: str
    series: str | None
    targets: tuple[str, ...]
    past: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        return (*self.targets, *self.past, *self.known)

    def notes(self, file: str) -> Iterator[str]:
        by = f", a series for each {self.series}" if self.series else ""
        yield f"{file}: time: {self.time}{by}; forecast: {_some(self.targets)}" + "".join(
            f"; {what}: {_some(names)}"
            for what, names in (("known ahead", self.known), ("known so far", self.past), ("not used", self.unused))
            if names
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def columns_of(wanted: Wanted, header: Sequence[str], rows: Sequence[Sequence[str]], place: str) -> Columns:
    """rows: some behind the header. place: of the header, file:line."""
    _refuse_header(header, place)
    cells = {name: [row[at].strip() for row in rows if len(row) == len(header)] for at, name in enumerate(header)}
    named = (*wanted.targets, *wanted.past, *wanted.known)
    for name in (wanted.time, wanted.series, *named):
        if name is not None and name not in header:
            raise absent(name, header, place)
    for name in named:
        if named.count(name) > 1:
            raise DataError(f"{place}: {name!r} is named twice among targets, past and known; once is enough")
    time = wanted.time or _time(header, cells, place)
    series = wanted.series or _series(header, cells, {time, *named})
    rest = [name for name in header if name not in (time, series, *named)]
    numbers = [name for name in rest if is_number_column(cells[name])]
    targets = wanted.targets or tuple(numbers)
    if not targets:
        raise DataError(f"{place}: no column of numbers beside {time!r}; is it the right file?")
    text = [name for name in rest if name not in numbers]
    if not wanted.targets and text:
        raise DataError(
            f"{place}: {_some(text)} holds text; say which columns are forecast, such as "
            f"--set 'task.targets=[\"{targets[0]}\"]', or which one names the series: --set task.series=…"
        )
    unused = tuple(name for name in rest if name not in targets)
    return Columns(time, series, targets, wanted.past, wanted.known, unused)


def is_number_column(cells: Sequence[str]) -> bool:
    """Whether most cells are numbers, also with a decimal comma: a column of them with some faults is one too."""
    some = [cell for cell in cells if cell.lower() not in MISSING]
    return not some or sum(map(_like_a_number, some)) >= len(some) / 2


def _like_a_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return in_thousands(cell)
    return True


def in_thousands(cell: str) -> bool:
    """A number whose thousands are parted: 12,345.6 or 12.345,6 or 12 345; not 1,234, which may be 1.234."""
    return bool(_THOUSANDS.fullmatch(cell.strip()))


def _refuse_header(header: Sequence[str], place: str) -> None:
    if all(map(_like_a_number, header)) or any(looks_like_time([name]) for name in header):
        raise DataError(f"{place}: a first line with the names of the columns is needed, such as: date,sales,price")
    for name in header:
        if not name.strip():
            raise DataError(f"{place}: column {list(header).index(name) + 1} has no name; give it one")
        if list(header).count(name) > 1:
            raise DataError(f"{place}: two columns are called {name!r}; rename one")


def _time(header: Sequence[str], cells: dict[str, list[str]], place: str) -> str:
    found = time_column(header, cells)
    if found is None:
        raise DataError(
            f"{place}: which column is the time? There are {_some(header)}; say it with --set task.time=…, "
            "and write times as 2024-12-31 23:00"
        )
    return found


def time_column(header: Sequence[str], cells: dict[str, list[str]]) -> str | None:
    """By its name, or the first whose cells are all times, or nearly all: one with a fault is one too."""
    usual = named_times(header)
    for least in (1.0, MOSTLY):
        likely = [name for name in (*usual, *header) if looks_like_time(cells[name][:SAMPLE], least)]
        if likely:
            return likely[0]
    return next(iter(usual), None)


def named_times(header: Sequence[str]) -> list[str]:
    """Columns whose names say that they are the time."""
    plain = {name.strip().lower(): name for name in header}
    return [plain[name] for name in _TIMES if name in plain]


def _series(header: Sequence[str], cells: dict[str, list[str]], taken: set[str]) -> str | None:
    """By its name; or one column of text, where there is but one."""
    plain = {name.strip().lower(): name for name in header if name not in taken}
    usual = [plain[name] for name in _NAMES if name in plain]
    if usual:
        return usual[0]
    text = [name for name in header if name not in taken and not is_number_column(cells[name])]
    return text[0] if len(text) == 1 and len(set(cells[text[0]])) <= max(1, len(cells[text[0]]) // 2) else None
