"""Batches in few fixed shapes, so that what a GPU does for one can be recorded and done again for the next."""
# N tokens of all rows  B rows

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.tasks.batch import Batch, Side
from seqloom.text.labels import NONE

PARTS = 8  # of the budget: a batch with fewer tokens is filled up to the next
ASKED = 128  # places that are asked for are filled up to the next
EIGHTH, WHOLE = 3, 0  # bits that are kept of a number of rows or steps: filled up by at most an eighth, or doubled


@dataclass(frozen=True)
class Room:
    """A side: so many tokens, in rows of at most so many steps. same: all rows have so many."""

    tokens: int
    longest: int
    same: bool
    segments: bool

    @classmethod
    def around(cls, side: Side, part: int, bits: int, same: bool) -> Self:
        tokens, longest = len(side.tokens_N), side.layout.longest
        if not same:
            tokens, longest = -(-tokens // part) * part, rounded(longest, bits)
        return cls(tokens, longest, same, side.segments_N is not None)


@dataclass(frozen=True)
class Frame:
    """The shapes of a batch, filled up so that many batches share them."""

    source: Room | None
    target: Room | None
    rows: int
    goal: int
    asked: bool = False
    """The goal has a part for each place that is asked for; else for each token, or for each row."""
    follows: bool = False
    """It is asked for each row whether its second segment follows."""

    @classmethod
    def around(cls, batch: Batch, budget: int, loose: bool = False) -> Self | None:
        """budget: tokens that a side of a batch is cut to. loose: rows and steps may be many more, as nobody pads.

        None: a batch of another kind has no frame.
        """
        sides = [side for side in (batch.source, batch.target) if side is not None]
        odd = batch.steps_vary or batch.weight_N is not None or batch.goal.dtype != torch.int64
        odd = odd or any(side.layout.structure_BTT is not None or side.layout.edges is not None for side in sides)
        if odd or not sides or any(side.tokens_N.dtype != torch.int64 or side.tokens_N.dim() != 1 for side in sides):
            return None
        rows = sides[-1].layout.rows
        uniform = all(side.layout.uniform for side in sides)
        part = max(1, -(-budget // (PARTS * 16))) * 16  # kernels are made for numbers that 16 divides
        bits = WHOLE if loose else EIGHTH
        source, target = (
            None if side is None else Room.around(side, part, bits, uniform) for side in (batch.source, batch.target)
        )
        room = target or source
        assert room is not None
        tokens = len(sides[-1].tokens_N)
        most, asked = rows if uniform else rounded(rows, bits), batch.asked_M is not None
        if rows == 0 or (not asked and len(batch.goal) not in (rows, tokens)):
            return None
        if asked:
            goal = -(-len(batch.goal) // ASKED) * ASKED
        else:
            goal = most if len(batch.goal) == rows != tokens else room.tokens
        return cls(source, target, most, goal, asked, batch.follows_B is not None)

    @property
    def size(self) -> int:
        """How many numbers a batch is."""
        rooms = [room for room in (self.source, self.target) if room is not None]
        sides = sum((1 + room.segments) * room.tokens + self.rows for room in rooms)
        return sides + self.goal * (1 + self.asked) + self.rows * self.follows + 1

    def write(self, batch: Batch, numbers: Tensor) -> None:
        """All of a batch as one row of numbers, so that it moves to a device at once."""
        at = 0

        def put(values: Tensor, size: int, fill: int = 0) -> None:
            nonlocal at
            numbers[at : at + len(values)] = values
            numbers[at + len(values) : at + size] = fill
            at += size

        for side, room in (batch.source, self.source), (batch.target, self.target):
            if side is not None and room is not None:
                put(side.tokens_N, room.tokens)
                put(side.layout.lengths_B, self.rows)
                if side.segments_N is not None:
                    put(side.segments_N, room.tokens)
        put(batch.goal, self.goal, NONE)
        if batch.asked_M is not None:
            put(batch.asked_M, self.goal)
        if batch.follows_B is not None:
            put(batch.follows_B, self.rows, NONE)
        put(torch.tensor([batch.count]), 1)

    def read(self, batch: Batch, numbers: Tensor) -> Batch:
        """The batch that the numbers hold, wherever they lie. batch: whose examples it has."""
        at = 0

        def take(size: int) -> Tensor:
            nonlocal at
            at += size
            return numbers[at - size : at]

        def side(room: Room | None) -> Side | None:
            if room is None:
                return None
            tokens_N, lengths_B = take(room.tokens), take(self.rows)
            segments_N = take(room.tokens) if room.segments else None
            return Side(tokens_N, Packed.within(lengths_B, room.tokens, room.longest, room.same), segments_N)

        framed = replace(batch, source=side(self.source), target=side(self.target), goal=take(self.goal))
        if self.asked:
            # what fills up is asked for at place 0, and counts nothing
            counts_M = (framed.goal != NONE).float()
            framed = replace(framed, goal=framed.goal.clamp(min=0), weight_N=counts_M, asked_M=take(self.goal))
        if self.follows:
            framed = replace(framed, follows_B=take(self.rows))
        return replace(framed, count_there=take(1)[0])


def rounded(number: int, bits: int) -> int:
    """Up to one of few numbers: so many bits behind the first differ."""
    step = 1 << max(0, (max(number, 1) - 1).bit_length() - bits)
    return -(-number // step) * step
