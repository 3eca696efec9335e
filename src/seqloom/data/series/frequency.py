"""How far the steps of a series are apart: so much time, so many months, or working days."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqloom.data.series.timestamps import Times

Longs = npt.NDArray[np.int64]

_DAY = 86_400_000_000
_UNITS = (("week", 7 * _DAY), ("day", _DAY), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000))


@dataclass(frozen=True)
class Frequency:
    """One of: months; working days; microseconds."""

    micros: int = 0
    months: int = 0
    working: bool = False
    """Monday to Friday"""
    ends: bool = False
    """of months: their last days"""

    @property
    def name(self) -> str:
        if self.working:
            return "1 working day"
        if self.months:
            count, unit = (self.months // 12, "year") if self.months % 12 == 0 else (self.months, "month")
        else:
            unit, size = next(((unit, size) for unit, size in _UNITS if self.micros % size == 0), ("microsecond", 1))
            count = self.micros // size
        return f"{count} {unit}{'' if count == 1 else 's'}"

    @property
    def season(self) -> int:
        """Steps after which such series usually come again: a day of hours, a week of days, a year of months."""
        if self.working:
            return 5
        if self.months:
            return max(1, 12 // self.months) if 12 % self.months == 0 else 1
        for period in (_DAY, 7 * _DAY, 364 * _DAY):
            if self.micros < period:
                return period // self.micros if period % self.micros == 0 else 1
        return 1

    def places(self, times: Times, origin: np.datetime64) -> npt.NDArray[np.float64]:
        """How many steps behind the origin each time is; no whole number where it is between two steps."""
        if self.working:
            days = times.astype("datetime64[D]")
            whole = np.busday_count(origin.astype("datetime64[D]"), days).astype(float)
            same_hour = (times - days) == (origin - origin.astype("datetime64[D]"))
            return np.where(np.is_busday(days) & same_hour, whole, whole + 0.5)
        if self.months:
            month, first = times.astype("datetime64[M]"), origin.astype("datetime64[M]")
            steps = (month - first).astype(float) / self.months
            return np.where(
                _in_month(times, self.ends) == _in_month(np.array([origin]), self.ends)[0], steps, steps + 0.3
            )
        return (times - origin).astype("timedelta64[us]").astype(float) / self.micros

    def after(self, origin: np.datetime64, places: Longs) -> Times:
        """The times of so many steps behind the origin."""
        if self.working:
            day = origin.astype("datetime64[D]")
            days = np.busday_offset(day, places, roll="forward").astype("datetime64[us]")
            return np.asarray(days + (origin - day))
        if self.months:
            month = origin.astype("datetime64[M]")
            begin = (month + places * self.months).astype("datetime64[us]")
            if self.ends:
                end = (month + places * self.months + 1).astype("datetime64[D]") - np.timedelta64(1, "D")
                hour = origin - origin.astype("datetime64[D]")
                return np.asarray(end.astype("datetime64[us]") + hour)
            return np.asarray(begin + (origin - month.astype("datetime64[us]")))
        return np.asarray(origin + places * np.timedelta64(self.micros, "us"))


def _in_month(times: Times, ends: bool) -> npt.NDArray[np.timedelta64]:
    """How far into its month each time is; before the end of it, of month ends."""
    month = times.astype("datetime64[M]")
    if ends:
        return np.asarray((month + 1).astype("datetime64[us]") - times.astype("datetime64[us]"))
    return np.asarray(times.astype("datetime64[us]") - month.astype("datetime64[us]"))


def frequency_of(times: Times) -> Frequency | None:
    """Of rising times, of which a few may be missing; None: there are not two."""
    if len(times) < 2:
        return None
    gaps = np.diff(times).astype("timedelta64[us]").astype(np.int64)
    usual = Counter(gaps.tolist()).most_common(1)[0][0]
    if usual >= 28 * _DAY:
        for ends in (False, True):
            if len(set(_in_month(times, ends).tolist())) == 1:
                months = np.diff(times.astype("datetime64[M]")).astype(np.int64)
                return Frequency(months=Counter(months.tolist()).most_common(1)[0][0], ends=ends)
    days = times.astype("datetime64[D]")
    if usual == _DAY and len(times) > 5 and bool(np.is_busday(days).all()):
        weeks = (days[-1] - days[0]).astype(int) // 7
        if weeks:
            return Frequency(working=True)
    return Frequency(micros=usual)
