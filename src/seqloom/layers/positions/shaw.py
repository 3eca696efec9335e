"""Relative positions after Shaw, Uszkoreit and Vaswani 2018 (arXiv:1803.02155)."""
# B rows  T queries  S keys  H heads  K head width  M distances

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.positions.relative import Relative, distances, spread
from seqloom.settings import Frozen


class Shaw(Frozen):
    """A learned vector a distance, added to keys and values; distances beyond `distance` share one."""

    kind: Literal["shaw"] = "shaw"
    distance: int = Field(default=16, ge=1)
    values: bool = True

    def parameters(self, heads: int, head_width: int) -> int:
        return (2 * self.distance + 1) * head_width * (2 if self.values else 1)


class ShawRelative(Relative):
    """Eq. 3 and 4; heads share the vectors, as in the paper."""

    def __init__(self, settings: Shaw, head_width: int) -> None:
        super().__init__()
        self.reach = settings.distance
        self.mixes_values = settings.values
        self.key_MK = nn.Parameter(torch.randn(2 * self.reach + 1, head_width) * head_width**-0.5)
        if settings.values:
            self.value_MK = nn.Parameter(torch.randn(2 * self.reach + 1, head_width) * head_width**-0.5)

    def _index(self, at_BT: Tensor, keys: int) -> Tensor:
        return distances(at_BT, keys).clamp(-self.reach, self.reach) + self.reach

    def bias(self, q_BHTK: Tensor, at_BT: Tensor, keys: int, from_start: bool) -> Tensor | None:
        return spread(torch.matmul(q_BHTK, self.key_MK.T), self._index(at_BT, keys).expand(q_BHTK.shape[0], -1, -1))

    def mixed(self, weights_BHTS: Tensor, at_BT: Tensor) -> Tensor:
        """Weights of all keys at one distance are added up first: the transpose of `spread`."""
        B, H, T, S = weights_BHTS.shape
        index_BHTS = self._index(at_BT, S)[:, None].expand(B, H, T, S)
        weights_BHTM = weights_BHTS.new_zeros(B, H, T, len(self.value_MK)).scatter_add(-1, index_BHTS, weights_BHTS)
        return torch.matmul(weights_BHTM, self.value_MK)
