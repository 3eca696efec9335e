"""Which steps of a series are for training, for validation and for the test: always in the order of time."""

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from seqloom.data.series.table import Series
from seqloom.data.series.timestamps import TimeStyle, parse_times
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks.settings import Dates, Shares, SplitSettings, Steps


@dataclass(frozen=True)
class Borders:
    """Steps: training ends before `valid`, validation before `test`, the test before `end`."""

    valid: int
    test: int
    end: int


def borders(series: Series, split: SplitSettings, style: TimeStyle) -> Borders:
    """A UserError, if a part would be empty that is asked for."""
    count = len(series)
    match split:
        case Shares():
            end = count
            test = end - round(split.test * count)
            valid = test - round(split.valid * count)
        case Steps():
            valid = split.train
            test, end = valid + split.valid, valid + split.valid + split.test
            if end > count:
                raise UserError(
                    f"{series.file}: {_of(series)}{counted(count, 'step')}, but task.split names {end:,} "
                    f"({split.train:,} + {split.valid:,} + {split.test:,}); set it lower"
                )
        case Dates():
            valid = _step(series, split.valid, "valid", style)
            end = count if split.end is None else _step(series, split.end, "end", style)
            test = end if split.test is None else _step(series, split.test, "test", style)
            if not valid <= test <= end:
                raise UserError(f"task.split: validation, test and end must come in this order, not {_told(split)}")
        case _:
            assert_never(split)
    return Borders(valid, test, end)


def _told(split: Dates) -> str:
    return ", ".join(str(time) for time in (split.valid, split.test, split.end) if time is not None)


def _of(series: Series) -> str:
    return f"{series.name!r} has " if series.name else "has "


def _step(series: Series, time: str, name: str, style: TimeStyle) -> int:
    """The first step that is not before a time."""
    try:
        times, own = parse_times([time], [1], "task.split", name)
        if own.zone and own.zone != style.zone:
            raise ValueError("another zone")
    except (UserError, ValueError):
        raise UserError(
            f"task.split.{name} = {time!r} is no time such as 2024-12-31, in the zone of the file"
        ) from None
    return int(np.searchsorted(series.times_T, times[0]))
