"""Dropout: other units at each token, or the same at all tokens of a sequence.

torch draws one random number a unit by a slow generator: on a CPU that is a tenth to a third of a training step. A
kernel of our own mixes the unit's place with a number of torch's own, and keeps nothing for the way back. Without a
compiler for it, sixteen bits are drawn for each unit, four units at a time, from a generator that begins at such a
number. So chance stays a function of torch's seed, whatever the number of threads.
"""
# B rows  D width

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.layers.layout import Layout
from seqloom.layers.native import residual
from seqloom.layers.paths import fast

FEW = 4096  # numbers: below it, to begin a generator costs more than it saves
LEVELS = 1 << 16  # a rate is a multiple of 1 / LEVELS


def dropped(x: Tensor, rate: float) -> Tensor:
    """Each number is 0 with this probability; the others grow, so that the mean stays."""
    if not rate or not cheap(x):
        return F.dropout(x, rate) if rate else x
    if residual.fits(x):
        return residual.dropped(x, rate)
    return _Dropped.apply(x, *keeping(x, rate))  # type: ignore[no-untyped-call]


def plus_dropped(x: Tensor, y: Tensor, rate: float) -> Tensor:
    """x + dropped(y), in one pass."""
    if not rate or not cheap(y) or x.shape != y.shape or x.dtype != y.dtype:
        return x + dropped(y, rate)
    if residual.fits(x, y):
        return residual.summed(x, y, 1.0, 1.0, rate)
    return _PlusDropped.apply(x, y, *keeping(y, rate))  # type: ignore[no-untyped-call]


def cheap(x: Tensor) -> bool:
    """Whether `keeping` works for it, and pays."""
    return (
        x.device.type == "cpu"
        and x.layout == torch.strided
        and x.numel() >= FEW
        and fast()
        and not torch.compiler.is_compiling()
    )


def keeping(like: Tensor, rate: float) -> tuple[Tensor, float]:
    """1 for what stays and 0 for what goes, in this shape; and by how much the rest grows."""
    lost = min(round(rate * LEVELS), LEVELS - 1)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    drawn = np.random.SFC64(seed).random_raw(-(-like.numel() // 4)).view(np.int16)
    # as numbers that a comparison can overwrite: half the time of one that makes truth values and then numbers
    level = torch.from_numpy(drawn)[: like.numel()].to(torch.promote_types(like.dtype, torch.float32))
    mask = level.ge_(lost - LEVELS // 2).view(like.shape).to(like.dtype)
    return mask, LEVELS / (LEVELS - lost)


def kept(rows: int, width: int, rate: float, like: Tensor) -> Tensor:
    """Which units stay, a row for each sequence, and by how much they grow: kept_BD."""
    return dropped(like.new_ones(rows, width), rate)


class Dropout(nn.Module):
    """locked: units that are dropped are so in the whole sequence (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float, locked: bool = False) -> None:
        super().__init__()
        self.rate, self.locked = rate, locked

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        if not self.training or not self.rate:
            return x
        if not self.locked:
            return dropped(x, self.rate)
        return x * layout.of_rows(kept(layout.rows, x.shape[-1], self.rate, x))


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Tensor, growth: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.growth = growth
        return torch.addcmul(x.new_zeros(()), x, mask, value=growth)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return torch.addcmul(grads[0].new_zeros(()), grads[0], ctx.saved_tensors[0], value=ctx.growth), None, None


class _PlusDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, mask: Tensor, growth: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.growth = growth
        return torch.addcmul(x, y, mask, value=growth)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_y = torch.addcmul(grads[0].new_zeros(()), grads[0], ctx.saved_tensors[0], value=ctx.growth)
        return grads[0], d_y, None, None
