"""What a forecaster knows of its columns: their names, their steps in time, and the scale of each in training."""
# T steps  C targets  B columns beside them

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from seqloom.data.series.calendar import CalendarPart, calendar
from seqloom.data.series.columns import Columns
from seqloom.data.series.frequency import Frequency
from seqloom.data.series.table import Series
from seqloom.data.series.timestamps import TimeStyle
from seqloom.data.series.windows import Scaled

Floats = npt.NDArray[np.float64]

FLAT = 1e-8  # a deviation below this share of the largest value is none: a constant's, up to rounding


@dataclass(frozen=True)
class Scale:
    """Of one series' targets, in its training part.

    naive_C: how far values are from those of a season before, on average: what MASE divides by; 0: unknown
    """

    mean_C: tuple[float, ...]
    deviation_C: tuple[float, ...]
    naive_C: tuple[float, ...]


@dataclass(frozen=True)
class Scales:
    """of: by the name of the series. beside: mean and deviation of the columns beside the targets, of all series."""

    columns: Columns
    frequency: Frequency
    style: TimeStyle
    season: int
    of: Mapping[str, Scale]
    beside: tuple[tuple[float, float], ...] = ()
    gaps: bool = False
    """whether training met missing values, so that a model is told of them"""
    parts: tuple[CalendarPart, ...] = ()

    @property
    def targets(self) -> int:
        return len(self.columns.targets)

    @property
    def known(self) -> int:
        """Numbers that are known ahead, those of the calendar too."""
        return len(self.columns.known) + 2 * len(self.parts)

    @property
    def fingerprint(self) -> str:
        return blake2b(self.dumps().encode(), digest_size=8).hexdigest()

    def scale_of(self, series: Series, seen: int | None = None) -> tuple[Scale, bool]:
        """And whether training knew the series; the scale of another is that of its own values.

        seen: so many of its steps may be looked at, as the others are to be forecast; None: all.
        """
        known = self.of.get(series.name)
        if known is None and len(self.of) == 1 and self.columns.series is None:
            known = next(iter(self.of.values()))
        if known is not None:
            return known, True
        return measured(series.values_TC[:seen, : self.targets], self.season), False

    def scaled(self, series: Series, scale: Scale) -> Scaled:
        C, P = self.targets, len(self.columns.past)
        z_TC = (series.values_TC[:, :C] - np.array(scale.mean_C)) / np.array(scale.deviation_C)
        beside_TB = series.values_TC[:, C:]
        if self.beside:
            mean_B, deviation_B = np.array(self.beside).T
            beside_TB = (beside_TB - mean_B) / deviation_B
        known_TK = np.concatenate((beside_TB[:, P:], calendar(series.times_T, self.parts)), 1)
        single = np.float32
        return Scaled(z_TC.astype(single), beside_TB[:, :P].astype(single), known_TK.astype(single), series.lines_T)

    def dumps(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> "Scales":
        kept = json.loads(text)
        columns: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept["columns"].items()
        }
        return replace(
            cls(
                Columns(**columns),
                Frequency(**kept["frequency"]),
                TimeStyle(**kept["style"]),
                kept["season"],
                {
                    name: Scale(*(tuple(one[key]) for key in ("mean_C", "deviation_C", "naive_C")))
                    for name, one in kept["of"].items()
                },
            ),
            beside=tuple((mean, deviation) for mean, deviation in kept["beside"]),
            gaps=kept["gaps"],
            parts=tuple(kept["parts"]),
        )


def measured(values_TC: Floats, season: int) -> Scale:
    """Of what is there; a column without a value, or with one value only, has mean 0 or that value, and deviation 1."""
    seen_TC = ~np.isnan(values_TC)
    mean_C, deviation_C = _moments(values_TC, seen_TC)
    naive_C = np.zeros(values_TC.shape[1])
    if len(values_TC) > season:
        apart_TC = np.abs(values_TC[season:] - values_TC[:-season])
        there_TC = ~np.isnan(apart_TC)
        naive_C = np.where(there_TC, apart_TC, 0).sum(0) / np.maximum(there_TC.sum(0), 1)
    return Scale(tuple(mean_C.tolist()), tuple(deviation_C.tolist()), tuple(naive_C.tolist()))


def measured_beside(parts: Sequence[Floats]) -> tuple[tuple[float, float], ...]:
    """Of columns beside the targets, over the training parts of all series."""
    values_TB = np.concatenate(parts)
    mean_B, deviation_B = _moments(values_TB, ~np.isnan(values_TB))
    return tuple(zip(mean_B.tolist(), deviation_B.tolist(), strict=True))


def constant(values: Sequence[Floats]) -> Iterator[int]:
    """The columns that never change, in any of the series."""
    for column in range(values[0].shape[1]):
        seen = [one[:, column][~np.isnan(one[:, column])] for one in values]
        if all(len(set(own.tolist())) < 2 for own in seen):
            yield column


def _moments(values_TC: Floats, seen_TC: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    count_C = np.maximum(seen_TC.sum(0), 1)
    mean_C = np.where(seen_TC, values_TC, 0).sum(0) / count_C
    away_TC = np.where(seen_TC, values_TC - mean_C, 0)
    deviation_C = np.sqrt((away_TC**2).sum(0) / count_C)
    largest_C = np.abs(np.where(seen_TC, values_TC, 0)).max(0, initial=0)
    return mean_C, np.where(deviation_C > FLAT * np.maximum(largest_C, 1e-300), deviation_C, 1.0)
