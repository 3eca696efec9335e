"""Relative attention of the Music Transformer (Huang et al. 2018, arXiv:1809.04281)."""
# B rows  T queries  S keys  H heads  K head width  M distances

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.paths import fast
from seqloom.layers.positions.relative import Relative, distances, skew, spread
from seqloom.settings import Frozen


class Music(Frozen):
    """A learned vector for each head and distance, added to the keys; farther than `distance` counts as that far."""

    kind: Literal["music"] = "music"
    distance: int = Field(default=512, ge=1)

    def parameters(self, heads: int, head_width: int) -> int:
        return heads * (2 * self.distance - 1) * head_width


class MusicRelative(Relative):
    """Eq. 3. The table also has distances to the future, for use without a causal mask, where the paper has none."""

    def __init__(self, settings: Music, heads: int, head_width: int) -> None:
        super().__init__()
        self.reach = settings.distance - 1
        self.key_HMK = nn.Parameter(torch.randn(heads, 2 * self.reach + 1, head_width) * head_width**-0.5)

    def bias(self, q_BHTK: Tensor, at_BT: Tensor, keys: int, from_start: bool) -> Tensor | None:
        if from_start and fast():
            span_M = torch.arange(1 - keys, keys, device=q_BHTK.device)
            needed_HMK = self.key_HMK[:, span_M.clamp(-self.reach, self.reach) + self.reach]
            return skew(torch.matmul(q_BHTK, needed_HMK.transpose(-1, -2)))
        index_BTS = distances(at_BT, keys).clamp(-self.reach, self.reach) + self.reach
        products_BHTM = torch.matmul(q_BHTK, self.key_HMK.transpose(-1, -2))
        return spread(products_BHTM, index_BTS.expand(q_BHTK.shape[0], -1, -1))
