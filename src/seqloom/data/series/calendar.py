"""What a clock knows ahead: the hour, the day and the month as points on circles."""
# T steps

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from seqloom.data.series.timestamps import Times

CalendarPart = Literal["minute", "hour", "weekday", "day", "month"]


def calendar(times_T: Times, parts: Sequence[CalendarPart]) -> npt.NDArray[np.float64]:
    """Sine and cosine of each part: 23 o'clock is beside 0."""
    circles = [2 * np.pi * _turn(times_T, part) for part in parts]
    columns = [wave(circle) for circle in circles for wave in (np.sin, np.cos)]
    return np.stack(columns, 1) if columns else np.zeros((len(times_T), 0))


def _turn(times_T: Times, part: CalendarPart) -> npt.NDArray[np.float64]:
    """How much of its circle is over, from 0 to 1."""
    days = times_T.astype("datetime64[D]")
    match part:
        case "minute":
            return _seconds(times_T - times_T.astype("datetime64[h]")) / 3600
        case "hour":
            return _seconds(times_T - days) / 86400
        case "weekday":
            return ((days.astype(np.int64) - 4) % 7) / 7  # 1970-01-05 was a Monday
        case "day":
            month = times_T.astype("datetime64[M]")
            return (days - month.astype("datetime64[D]")).astype(np.float64) / 31
        case "month":
            year = times_T.astype("datetime64[Y]")
            return (days - year.astype("datetime64[D]")).astype(np.float64) / 366


def _seconds(spans: npt.NDArray[np.timedelta64]) -> npt.NDArray[np.float64]:
    return spans.astype("timedelta64[us]").astype(np.float64) / 1e6
