"""Attention with linear biases (Press, Smith and Lewis 2022, arXiv:2108.12409)."""
# B rows  T queries  S keys  H heads

import math
from typing import Literal

import torch
from torch import Tensor

from seqloom.layers.positions.relative import Relative, distances
from seqloom.settings import Frozen


class Alibi(Frozen):
    """The farther a key, the lower its score, with another slope in each head. Nothing to learn."""

    kind: Literal["alibi"] = "alibi"

    def parameters(self, heads: int, head_width: int) -> int:
        return 0


def slopes(heads: int) -> list[float]:
    """A geometric sequence from 2^(-8/heads); if heads is no power of two, every other one of double fills up."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return first if power == heads else first + slopes(2 * power)[::2][: heads - power]


class AlibiRelative(Relative):
    """Without a causal mask both directions fall off alike (the paper has the past only)."""

    slope_H: Tensor
    scaled = False

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slope_H", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, q_BHTK: Tensor, at_BT: Tensor, keys: int, from_start: bool) -> Tensor | None:
        away_B1TS = distances(at_BT, keys).abs()[:, None].to(q_BHTK.dtype)
        return -self.slope_H.to(q_BHTK.dtype)[:, None, None] * away_B1TS
