"""A batch as a model takes it."""
# N tokens of all rows

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.layers.layout import Packed
from seqloom.text.labels import NONE


@dataclass(frozen=True)
class Side:
    """Tokens of all rows, end to end, and where each row begins."""

    tokens_N: Tensor
    layout: Packed
    segments_N: Tensor | None = None
    """Which kind of segment each token is in."""

    @classmethod
    def of(cls, rows: Ragged) -> Self:
        return cls(_tensor(rows), Packed.of(torch.from_numpy(rows.lengths_B)))

    def to(self, device: torch.device) -> "Side":
        if self.tokens_N.device == device:
            return self
        layout = Packed.of(self.layout.lengths_host_B, device=device)
        segments_N = None if self.segments_N is None else self.segments_N.to(device, non_blocking=True)
        return Side(self.tokens_N.to(device, non_blocking=True), layout, segments_N)


@dataclass(frozen=True)
class Batch:
    """source: what is read. target: what is read back, if the answer is written step by step. goal: the answer."""

    examples: Examples
    source: Side | None
    target: Side | None
    goal: Tensor
    count: int
    """How many parts of the goal count: the loss is a mean over them."""
    asked_M: Tensor | None = None
    """The positions that the goal is about, where it is not about all; the output is made for them only."""
    follows_B: Tensor | None = None
    """1 where a row's second segment follows its first."""

    def to(self, device: torch.device) -> "Batch":
        source = None if self.source is None else self.source.to(device)
        target = None if self.target is None else self.target.to(device)
        asked_M = None if self.asked_M is None else self.asked_M.to(device, non_blocking=True)
        follows_B = None if self.follows_B is None else self.follows_B.to(device, non_blocking=True)
        goal = self.goal.to(device, non_blocking=True)
        return replace(self, source=source, target=target, goal=goal, asked_M=asked_M, follows_B=follows_B)

    @property
    def tokens(self) -> int:
        return sum(len(side.tokens_N) for side in (self.source, self.target) if side is not None)


def known(rows: Ragged) -> Ragged:
    """Labels; one that no model can give does not count for the loss."""
    return Ragged(np.maximum(rows.values_N, NONE), rows.starts)


def goals(rows: Ragged) -> Tensor:
    return _tensor(rows)


def _tensor(rows: Ragged) -> Tensor:
    return torch.from_numpy(rows.values_N.astype(np.int64))
