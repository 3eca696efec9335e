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
    weight_N: Tensor | None = None
    """How often each token of the goal counts, perhaps less than never; None: once."""
    asked_M: Tensor | None = None
    """The positions that the goal is about, where it is not about all; the output is made for them only."""
    follows_B: Tensor | None = None
    """1 where a row's second segment follows its first."""

    def to(self, device: torch.device) -> "Batch":
        moved = {
            name: None if part is None else part.to(device, non_blocking=True)
            for name in ("goal", "weight_N", "asked_M", "follows_B")
            for part in [getattr(self, name)]
        }
        sides = {
            name: None if side is None else side.to(device)
            for name in ("source", "target")
            for side in [getattr(self, name)]
        }
        return replace(self, **sides, **moved)

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
