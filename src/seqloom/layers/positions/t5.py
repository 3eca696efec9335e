"""Relative position buckets of T5 (Raffel et al. 2020, arXiv:1910.10683)."""
# B rows  T queries  S keys  H heads

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.positions.relative import Relative, distances
from seqloom.settings import Frozen


class T5(Frozen):
    """A learned number for each head and bucket of distances; near ones have their own, far ones share by logarithm."""

    kind: Literal["t5"] = "t5"
    buckets: int = Field(default=32, ge=4, multiple_of=2)
    distance: int = Field(default=128, ge=2, description="distances from here on share the last bucket")
    shared: bool = Field(default=True, description="one table for all layers of a stack, as in the paper")

    def parameters(self, heads: int, head_width: int) -> int:
        return self.buckets * heads


class T5Relative(Relative):
    """Half of the buckets are exact; the others grow by logarithm. Without a causal mask each direction has half."""

    scaled = False

    def __init__(self, settings: T5, heads: int, causal: bool) -> None:
        super().__init__()
        self.buckets, self.far, self.causal = settings.buckets, settings.distance, causal
        self.table_MH = nn.Parameter(torch.randn(settings.buckets, heads) * heads**-0.5)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of key's position minus query's."""
        if self.causal:
            offset, count, away = 0, self.buckets, (-distance).clamp(min=0)
        else:
            count = self.buckets // 2
            offset, away = (distance > 0).long() * count, distance.abs()  # type: ignore[assignment]
        exact = count // 2
        ratio = torch.log(away.clamp(min=1).float() / exact) / math.log(self.far / exact)
        far = exact + (ratio * (count - exact)).long()
        return offset + torch.where(away < exact, away, far.clamp(max=count - 1))

    def bias(self, q_BHTK: Tensor, at_BT: Tensor, keys: int, from_start: bool) -> Tensor | None:
        return self.table_MH[self.bucket(distances(at_BT, keys))].permute(0, 3, 1, 2)
