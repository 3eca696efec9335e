"""Dropout: other units at each token, or the same at all tokens of a sequence."""
# B rows  D width

import torch.nn.functional as F
from torch import Tensor, nn

from seqloom.layers.layout import Layout


def kept(rows: int, width: int, rate: float, like: Tensor) -> Tensor:
    """Which units stay, a row for each sequence, and by how much they grow: kept_BD."""
    return F.dropout(like.new_ones(rows, width), rate)


class Dropout(nn.Module):
    """locked: units that are dropped are so in the whole sequence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float, locked: bool = False) -> None:
        super().__init__()
        self.rate, self.locked = rate, locked

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        if not self.training or not self.rate:
            return x
        if not self.locked:
            return F.dropout(x, self.rate)
        return x * layout.of_rows(kept(layout.rows, x.shape[-1], self.rate, x))
