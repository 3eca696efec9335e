"""A batch as a model takes it."""
# N tokens of all rows

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.layers.layout import Packed, repeated, twice, with_edges
from seqloom.tasks.carried import Carried


@dataclass(frozen=True)
class Side:
    """Tokens of all rows, or readings, end to end, and where each row begins."""

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
        assert self.layout.lengths_host_B is not None
        layout = Packed.of(self.layout.lengths_host_B, device=device)
        if self.layout.edges is not None:
            layout = with_edges(layout, self.layout.edges.to(device))
        segments_N = None if self.segments_N is None else self.segments_N.to(device, non_blocking=True)
        return Side(self.tokens_N.to(device, non_blocking=True), layout, segments_N)

    def twice(self) -> "Side":
        """Each row two times: all of them, and all again."""
        segments_N = None if self.segments_N is None else repeated(self.layout, self.segments_N)
        return Side(repeated(self.layout, self.tokens_N), twice(self.layout), segments_N)


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
    count_there: Tensor | None = None
    """`count` where the model is, which may be that of another batch in the same frame."""

    goes_on: bool = False
    """Each row begins where the same row of the batch before ended."""
    carried: Carried | None = None
    """What the batch before left; None: all rows begin anew, and nobody goes on behind them."""
    steps_vary: bool = False
    """How many steps a model makes of it hangs on its tokens: batches of equal shapes differ in that."""

    def to(self, device: torch.device) -> "Batch":
        return replace(
            self,
            source=None if self.source is None else self.source.to(device),
            target=None if self.target is None else self.target.to(device),
            goal=self.goal.to(device, non_blocking=True),
            weight_N=_moved(self.weight_N, device),
            asked_M=_moved(self.asked_M, device),
            follows_B=_moved(self.follows_B, device),
        )

    def twice(self) -> "Batch":
        """What a model reads, two times: all rows, and all again. The goal is the same for both, and stays as it is."""
        source = None if self.source is None else self.source.twice()
        target = None if self.target is None else self.target.twice()
        asked_M, side = self.asked_M, self.source if self.target is None else self.target
        if asked_M is not None and side is not None:
            asked_M = torch.cat((asked_M, asked_M + side.layout.offsets_B1[-1]))
        return replace(self, source=source, target=target, asked_M=asked_M)

    @property
    def larger(self) -> int:
        """Tokens of the larger side: what the budget of a batch is about."""
        return max(len(side.tokens_N) for side in (self.source, self.target) if side is not None)

    @property
    def counted(self) -> int | Tensor:
        """`count`, as a loss takes it."""
        return self.count if self.count_there is None else self.count_there

    @property
    def tokens(self) -> int:
        return sum(len(side.tokens_N) for side in (self.source, self.target) if side is not None)


def goals(rows: Ragged) -> Tensor:
    return _tensor(rows)


def _tensor(rows: Ragged) -> Tensor:
    """Readings stay real numbers, x_NC."""
    if rows.values_N.dtype.kind == "f":
        return torch.from_numpy(rows.values_N)
    return torch.from_numpy(rows.values_N.astype(np.int64))


def _moved(x: Tensor | None, device: torch.device) -> Tensor | None:
    return None if x is None else x.to(device, non_blocking=True)
