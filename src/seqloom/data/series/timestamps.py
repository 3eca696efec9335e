"""How the times of a file are written: read with the line of every fault, and written back in the same way."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from seqloom.data.reading.faults import DataError

Times = npt.NDArray[np.datetime64]
"""Of microseconds, without a zone."""

ISO = "ISO 8601"
SECONDS, MILLISECONDS = "seconds since 1970", "milliseconds since 1970"
_SURE = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%Y-%m",
    "%Y/%m",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    *(form.format(month) for month in ("%B", "%b") for form in ("{} %Y", "{}-%Y", "%Y {}", "%d {} %Y", "%d-{}-%Y")),
    *(form.format(month) for month in ("%B", "%b") for form in ("{} %d, %Y", "{} %d %Y")),
    *("%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y"),
)
_EITHER = tuple(
    (f"%d/%m/%Y{hour}", f"%m/%d/%Y{hour}") for hour in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
_OTHER = tuple(f"{day}{hour}" for day in ("%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y") for hour in ("", " %H:%M", " %H:%M:%S"))
_KNOWN = (*_SURE, *(form for two in _EITHER for form in two), *_OTHER)
_ADVISED = (*_KNOWN, "%y-%m-%d", *(form.replace("%Y", "%y") for form in _KNOWN if not form.startswith("%Y")))
"""What is advised where it fits; of what has two digits of a year, that does not come first unless with hyphens."""
SAMPLE = 100  # times that are looked at for it
MOSTLY = 0.9  # of them have to fit
_LATE_DAY = re.compile(r"(?<!\d)(29|30|31)(?!\d)")
_YEAR = "%Y"
_QUARTER = "%q"  # beside what strptime knows: 1 to 4
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class TimeStyle:
    """form: ISO 8601, a number, or as strptime says it, and %q for a quarter. zone: what follows each time: +01:00."""

    form: str = ISO
    zone: str = ""
    separator: str = " "
    """between the day and the hour of ISO 8601"""
    digits: int = 10
    """characters of ISO 8601: 10 are a day alone"""

    def write(self, times: Times) -> list[str]:
        return [self._text(time) for time in times.astype("datetime64[us]").tolist()]

    def _text(self, time: datetime) -> str:
        if self.form == ISO:
            if self.digits <= 10 and time.time() == datetime.min.time():
                return time.date().isoformat() + self.zone
            exact = "microseconds" if time.microsecond else "minutes" if 10 < self.digits <= 16 else "seconds"
            return time.isoformat(self.separator, exact) + self.zone
        if self.form in (SECONDS, MILLISECONDS):
            since = (time - _EPOCH) / timedelta(seconds=1)
            return str(round(since if self.form == SECONDS else 1000 * since))
        return time.strftime(self.form.replace(_QUARTER, str((time.month + 2) // 3)))


def looks_like_time(cells: Sequence[str], least: float = 1.0) -> bool:
    """Whether each cell, or such a share of them, is a time; plain numbers are not, as readings are numbers too."""
    some = [cell for cell in cells if cell]
    if not some or any(_number(cell) for cell in some):
        return False
    return any(
        sum(_parses(cell, form) for cell in some) >= least * len(some)
        for form in (ISO, *_SURE, *(f for two in _EITHER for f in two))
    )


def looks_like_a_count(cells: Sequence[str]) -> bool:
    """Years, days as 20241231, or seconds or milliseconds since 1970: times where the column's name says so."""
    some = [cell for cell in cells if cell]
    return bool(some) and all(cell.isdecimal() and cell.isascii() and len(cell) in (4, 8, 10, 13) for cell in some)


def parse_times(
    cells: Sequence[str], lines: Sequence[int], file: str, column: str, form: str | None = None
) -> tuple[Times, TimeStyle]:
    """All times of a file, or the first cell that is none. form: as strptime says it; None: it is found out."""
    said, form = form is not None, form or _form(cells, lines, file, column)
    read = _reader(form)
    times, zone = list[datetime](), None
    for cell, line in zip(cells, lines, strict=True):
        try:
            time = read(cell)
        except (ValueError, OverflowError):
            raise DataError(f"{file}:{line}: {column}: {_no_time(cell, cells, form, said)}") from None
        own = _zone(time, cell)
        if zone is None:
            zone = own
        elif own != zone:
            raise DataError(
                f"{file}:{line}: {column}: {cell!r} is {_zone_words(own)}, but {file}:{lines[0]} is "
                f"{_zone_words(zone)}; write all times in one zone, such as UTC: summer time would move the steps"
            )
        times.append(time.replace(tzinfo=None))
    first = cells[0].strip()
    plain = first.removesuffix(zone or "")
    style = TimeStyle(form, zone or "", "T" if "T" in plain else " ", len(plain))
    return np.array(times, "datetime64[us]"), style


def _form(cells: Sequence[str], lines: Sequence[int], file: str, column: str) -> str:
    first = cells[0].strip()
    if first.isdecimal() and len(first) != 8:
        return {4: _YEAR, 10: SECONDS, 13: MILLISECONDS}.get(len(first)) or _refuse(cells, lines[0], file, column)
    sure = [form for form in (ISO, *_SURE) if _parses(first, form)]
    if sure:  # "May 2024" may be a short name or a long one
        return next((form for form in sure[1:] and sure if all(_parses(cell, form) for cell in cells)), sure[0])
    for two in _EITHER:
        fitting = [form for form in two if all(_parses(cell, form) for cell in cells)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise DataError(
                f"{file}:{lines[0]}: {column}: {first!r}: does the day or the month come first? "
                f"--set task.time_format='{two[0]}' or '{two[1]}'"
            )
        if any(_parses(first, form) for form in two):
            return two[0] if _parses(first, two[0]) else two[1]
    return _refuse(cells, lines[0], file, column)


def _refuse(cells: Sequence[str], line: int, file: str, column: str) -> str:
    raise DataError(f"{file}:{line}: {column}: {_no_time(cells[0], cells, None, False)}")


def _no_time(cell: str, cells: Sequence[str], form: str | None, said: bool) -> str:
    """said: whether the form is that of the settings, and not of the rows before it."""
    if not cell.strip():
        return "the time is missing; fill it in, or remove the row"
    fitting = _fitting(cell, cells)
    if not fitting and _no_such_day(cell, form):
        return f"{cell!r}: there is no such day; mend it"
    if form is None:
        what, fix = (
            "is no time that is known",
            "write 2024-12-31 23:00, or say how it is written: --set task.time_format=…",
        )
    elif said:
        what, fix = f"is not as task.time_format says ({form})", "mend the time, or the setting"
    else:
        what, fix = f"is no time as the rows before it ({form})", "write it as these are"
    if fitting:
        fix = f"say how it is written: --set task.time_format={' or '.join(map(repr, fitting))}"
    return f"{cell!r} {what}; {fix}"


def _fitting(cell: str, cells: Sequence[str]) -> list[str]:
    """The forms that fit a time and most others best: one, or two that differ in what comes first."""
    some = [other for other in cells[:SAMPLE] if other.strip()]
    counts = {form: sum(_parses(other, form) for other in some) for form in _ADVISED if _parses(cell, form)}
    most = max(counts.values(), default=0)
    fitting = [form for form, count in counts.items() if count == most >= MOSTLY * len(some)]
    short = [form for form in fitting if "%B" not in form]  # May is a long name, too
    return (short or fitting)[:2]


def _no_such_day(cell: str, form: str | None) -> bool:
    """Whether it would be a time if its month had a day more."""
    earlier = [f"{cell[: at.start()]}28{cell[at.end() :]}" for at in _LATE_DAY.finditer(cell)]
    forms = (ISO, *_ADVISED) if form is None else (form,)
    return any(_parses(other, one) for other in earlier for one in forms)


def _reader(form: str) -> Callable[[str], datetime]:
    if form == ISO:
        return lambda cell: datetime.fromisoformat(cell.strip())
    if form in (SECONDS, MILLISECONDS):
        unit = timedelta(seconds=1) if form == SECONDS else timedelta(milliseconds=1)
        return lambda cell: _EPOCH + int(cell) * unit
    if _QUARTER in form:
        return lambda cell: _in_quarter(cell.strip(), form)
    return lambda cell: datetime.strptime(cell.strip(), form)


def _in_quarter(cell: str, form: str) -> datetime:
    """The first day of it."""
    for quarter in range(1, 5):
        try:
            return datetime.strptime(cell, form.replace(_QUARTER, str(quarter))).replace(month=3 * quarter - 2)
        except ValueError:
            continue
    raise ValueError(cell)


def _parses(cell: str, form: str) -> bool:
    try:
        _reader(form)(cell)
    except (ValueError, OverflowError):
        return False
    return True


def _number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _zone(time: datetime, cell: str) -> str:
    """As it is written: Z, +01:00, or nothing."""
    if time.tzinfo is None:
        return ""
    if time.tzinfo is UTC and cell.strip()[-1] in "zZ":
        return cell.strip()[-1]
    offset = time.strftime("%z")
    return f"{offset[:3]}:{offset[3:5]}"


def _zone_words(zone: str) -> str:
    return f"in zone {zone}" if zone else "without a zone"
