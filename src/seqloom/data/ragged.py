"""Rows of unequal length, laid end to end."""
# N values of all rows  B rows  C readings at each step

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

IdType = type[np.uint16] | type[np.int32]
"""How numbers are kept: those of a vocabulary in two bytes where they fit, those that may be below zero in four."""


@dataclass(frozen=True)
class Steps:
    """Real numbers, several at each step, in four bytes each."""

    channels: int


ColumnType = IdType | Steps

Values = npt.NDArray[Any]
"""Whole numbers, values_N; or readings of a series, values_NC."""
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """Row b is values[starts[b] : starts[b + 1]]."""

    values_N: Values
    starts: Longs

    @classmethod
    def of(cls, values_N: Values, lengths_B: npt.NDArray[np.integer]) -> Self:
        starts = np.zeros(len(lengths_B) + 1, np.int64)
        np.cumsum(lengths_B, out=starts[1:])
        return cls(values_N, starts)

    @classmethod
    def rows(cls, rows: Sequence[Sequence[int]], kind: IdType = np.int32) -> Self:
        lengths_B = np.fromiter(map(len, rows), np.int64, len(rows))
        values_N: Values = np.fromiter((value for row in rows for value in row), kind, int(lengths_B.sum()))
        return cls.of(values_N, lengths_B)

    @classmethod
    def series(cls, rows: Sequence[Values], channels: int) -> Self:
        """Readings of any number of steps, row_TC each."""
        lengths_B = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls.of(np.concatenate([np.empty((0, channels), np.float32), *rows]).astype(np.float32), lengths_B)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> Values:
        return self.values_N[self.starts[row] : self.starts[row + 1]]

    @property
    def lengths_B(self) -> Longs:
        return np.diff(self.starts)

    def take(self, rows: Longs) -> "Ragged":
        """Some rows, in the order asked for."""
        lengths_B = self.lengths_B[rows]
        taken = Ragged.of(self.values_N[:0], lengths_B)
        # where each value comes from: its row's start, and how far into the row it is
        shift_B = self.starts[:-1][rows] - taken.starts[:-1]
        at_N = np.arange(taken.starts[-1]) + np.repeat(shift_B, lengths_B)
        return Ragged(self.values_N[at_N], taken.starts)

    def cut(self, longest: int) -> "Ragged":
        """No row longer than so much: what is beyond is left out."""
        lengths_B = np.minimum(self.lengths_B, longest)
        return Ragged(self.values_N[_inside(self.lengths_B, lengths_B)], Ragged.of(self.values_N[:0], lengths_B).starts)

    def framed(self, before: Sequence[int] = (), after: Sequence[int] = ()) -> "Ragged":
        """Each row with some values put before and after it, which its type must be able to hold."""
        longer_B = self.lengths_B + len(before) + len(after)
        starts = Ragged.of(self.values_N[:0], longer_B).starts
        values = np.empty((starts[-1], *self.values_N.shape[1:]), self.values_N.dtype)
        inside = np.ones(len(values), bool)
        for place, value in enumerate(before):
            values[starts[:-1] + place], inside[starts[:-1] + place] = value, False
        for place, value in enumerate(reversed(after), 1):
            values[starts[1:] - place], inside[starts[1:] - place] = value, False
        values[inside] = self.values_N
        return Ragged(values, starts)

    def without_first(self) -> "Ragged":
        keep_N = np.ones(len(self.values_N), bool)
        keep_N[self.starts[:-1]] = False
        return Ragged.of(self.values_N[keep_N], self.lengths_B - 1)

    def without_last(self) -> "Ragged":
        keep_N = np.ones(len(self.values_N), bool)
        keep_N[self.starts[1:] - 1] = False
        return Ragged.of(self.values_N[keep_N], self.lengths_B - 1)

    def reversed(self) -> "Ragged":
        """Each row from its end to its beginning."""
        row_N = np.repeat(np.arange(len(self)), self.lengths_B)
        return Ragged(
            self.values_N[self.starts[row_N] + self.starts[row_N + 1] - 1 - np.arange(len(row_N))], self.starts
        )

    @classmethod
    def join(cls, parts: Sequence["Ragged"]) -> "Ragged":
        if len(parts) == 1:
            return parts[0]
        lengths = [part.lengths_B for part in parts]
        return cls.of(np.concatenate([part.values_N for part in parts]), np.concatenate(lengths))


def _inside(lengths_B: Longs, kept_B: Longs) -> npt.NDArray[np.bool_]:
    """For each value, whether it is among the first `kept` of its row."""
    starts = np.cumsum(lengths_B) - lengths_B
    place_N = np.arange(int(lengths_B.sum())) - np.repeat(starts, lengths_B)
    return place_N < np.repeat(kept_B, lengths_B)
