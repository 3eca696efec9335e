"""Rows that began together stay together: what each cohort remembers is as wide as its own rows need.

Joined into one tensor, all rows would be filled up to the longest, hidden behind masks, and copied whenever others
join. Side by side only attention itself goes cohort by cohort; all that is done token by token is done for all at once.
"""
# R rows of all cohorts

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

MOST = 6
"""Cohorts of few rows; where they come one by one, more would take longer than all filled up to the longest."""
FEW = 16
"""Rows of a cohort, on average, for which a step of its own is not worth while."""
PARTS = 4
"""Into which rows that begin together are split by their lengths: the more, the less is filled up."""
WORTH = 0.9  # of what was filled up is filled up still, at most, where they are split


@dataclass(frozen=True)
class Room:
    """How a state is to be kept while it goes on."""

    steps: int
    """Its buffers grow by so many at a time."""
    sizes: tuple[int, ...] = ()
    """So many rows after each other have memories of like length; (): nobody knows."""


def alike(lengths: Sequence[int]) -> tuple[int, ...]:
    """Sizes of parts, one after the other, of rows that are sorted by length: as many as are worth while."""
    count = min(PARTS, len(lengths) // (2 * FEW))
    if count < 2 or any(one < other for one, other in pairwise(lengths)):
        return (len(lengths),)
    sizes = [len(part) for part in np.array_split(np.arange(len(lengths)), count)]
    begins = accumulate(sizes, initial=0)
    filled = sum(lengths[begin] * size for begin, size in zip(begins, sizes, strict=False))
    return tuple(sizes) if filled <= WORTH * lengths[0] * len(lengths) else (len(lengths),)


def staying(cohorts: Sequence[int], done: set[int]) -> tuple[list[int], list[int]]:
    """Those that are not done, of which as few as can be change their places: states are large.

    cohorts: how many began together, one cohort after the other; all stay with theirs. Returns these numbers, too.
    """
    kept, sizes, begin = list[int](), list[int](), 0
    for size in cohorts:
        left = size - sum(begin <= a < begin + size for a in done)
        last = [a for a in range(begin + left, begin + size) if a not in done]
        kept += [last.pop() if a in done else a for a in range(begin, begin + left)]
        sizes += [left] if left else []
        begin += size
    return kept, sizes


class Part(Protocol):
    """The state of one cohort."""

    @property
    def rows(self) -> int: ...
    def reorder(self, rows_R: Tensor) -> Self: ...
    def fork(self, rows_R: Tensor) -> Self: ...
    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self: ...


P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class Cohorts(Generic[P]):
    parts: tuple[P, ...]

    @cached_property
    def sizes(self) -> list[int]:
        return [part.rows for part in self.parts]

    @property
    def rows(self) -> int:
        return sum(self.sizes)

    @classmethod
    def join(cls, cohorts: Sequence["Cohorts[P]"]) -> "Cohorts[P]":
        parts = [part for some in cohorts for part in some.parts if part.rows or len(cohorts) == 1]
        if len({id(part) for part in parts}) < len(parts) or not parts or _many(parts):
            # they are written in place, so no two may be the same
            parts = [type(cohorts[0].parts[0]).join([part for some in cohorts for part in some.parts])]
        return cls(tuple(parts))

    def roomy(self, room: Room) -> "Cohorts[P]":
        return self

    def together(self) -> P:
        """All as one."""
        return self.parts[0] if len(self.parts) == 1 else type(self.parts[0]).join(self.parts)

    def reorder(self, rows_R: Tensor) -> "Cohorts[P]":
        """Rows that stay with their cohort are moved within it; where one goes to another, all become one."""
        if len(self.parts) == 1:
            return Cohorts((self.parts[0].reorder(rows_R),))
        ends = np.cumsum(self.sizes)
        rows = rows_R.cpu().numpy()
        of_R = np.searchsorted(ends, rows, side="right")
        if (of_R[1:] < of_R[:-1]).any():
            return Cohorts((self.together().reorder(rows_R),))
        counts = np.bincount(of_R, minlength=len(self.parts)).tolist()
        kept, begin, first = [], 0, 0
        for part, size, count in zip(self.parts, self.sizes, counts, strict=True):
            own = rows[first : first + count] - begin
            stays = count == size and bool((own == np.arange(size)).all())
            if count:
                kept.append(part if stays else part.reorder(torch.from_numpy(own).to(rows_R.device)))
            begin, first = begin + size, first + count
        made = Cohorts(tuple(kept))
        return Cohorts((made.together(),)) if _many(kept) else made

    def fork(self, rows_R: Tensor) -> "Cohorts[P]":
        """Every row stays with those that it shares a memory with, and so with its cohort."""
        if len(self.parts) == 1:
            return Cohorts((self.parts[0].fork(rows_R),))
        begins = [0, *accumulate(self.sizes)]
        each = zip(self.parts, rows_R.split(self.sizes), begins, strict=False)
        return Cohorts(tuple(part.fork(rows - begin) for part, rows, begin in each))


def _many(parts: Sequence[Part]) -> bool:
    return len(parts) > MOST and sum(part.rows for part in parts) < FEW * len(parts)
