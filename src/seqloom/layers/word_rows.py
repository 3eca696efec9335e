"""The words of a batch in rows, flush left, where a word may be several pieces."""
# B rows  T words of the longest row

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from seqloom.layers.layout import Layout


@dataclass(frozen=True)
class WordRows:
    """order_BT: where each word stands in the padded form; behind the words what is none."""

    layout: Layout
    lengths_B: Tensor
    order_BT: Tensor

    @classmethod
    def of(cls, layout: Layout, begins: Tensor) -> Self:
        """begins: True where a word begins, in the layout's own form."""
        begins_BT = layout.pad(begins).bool() & layout.real_BT
        lengths_B = begins_BT.sum(1)
        ahead_BT, behind_BT = begins_BT.cumsum(1), lengths_B[:, None] + (~begins_BT).cumsum(1)
        place_BT = torch.where(begins_BT, ahead_BT, behind_BT) - 1
        step_BT = torch.arange(layout.longest, device=place_BT.device).expand_as(place_BT)
        order_BT = torch.empty_like(place_BT).scatter_(1, place_BT, step_BT)
        if not order_BT.is_cuda:  # where nobody has to wait for a number
            order_BT = order_BT[:, : int(lengths_B.max()) if len(lengths_B) else 0]
        return cls(layout, lengths_B, order_BT)

    def take(self, x: Tensor) -> Tensor:
        """What stands at the words, in rows; anything behind them."""
        x_BT = self.layout.pad(x)
        at = self.order_BT.reshape(*self.order_BT.shape, *(1 for _ in x_BT.shape[2:]))
        return x_BT.gather(1, at.expand(*self.order_BT.shape, *x_BT.shape[2:]))

    def put(self, x_BT: Tensor, elsewhere: int) -> Tensor:
        """The way back to the layout's own form."""
        full_BT = torch.full(self.layout.real_BT.shape, elsewhere, dtype=x_BT.dtype, device=x_BT.device)
        step_T = torch.arange(x_BT.shape[1], device=x_BT.device)
        kept_BT = torch.where(step_T < self.lengths_B[:, None], x_BT, elsewhere)
        return self.layout.unpad(full_BT.scatter(1, self.order_BT, kept_BT))
