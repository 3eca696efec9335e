"""Rows of like length together, so that short rows are not filled up to the longest."""
# N tokens  R rows of a part

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from seqloom.layers.cohorts import alike
from seqloom.layers.layout.packed import Packed


@dataclass(frozen=True)
class Parts:
    order_N: Tensor | None  # the tokens, part after part; None: they are as they stand
    back_N: Tensor | None  # where each token went
    rows: tuple[Tensor, ...]  # of each part, on the CPU
    layouts: tuple[Packed, ...]

    @classmethod
    def of(cls, layout: Packed, rows: Sequence[Tensor]) -> Self:
        """These rows of a packed batch, part after part; each row is in one part."""
        lengths_B, device = layout.lengths_host_B, layout.lengths_B.device
        assert lengths_B is not None
        layouts = tuple(Packed.of(lengths_B[part], device=device) for part in rows)
        if bool((torch.cat(list(rows)) == torch.arange(len(lengths_B))).all()):
            return cls(None, None, tuple(rows), layouts)
        begins_B = lengths_B.cumsum(0) - lengths_B
        row_R = torch.cat(list(rows))
        length_R = lengths_B[row_R]
        shift_R = begins_B[row_R] - (length_R.cumsum(0) - length_R)
        shift_N = torch.from_numpy(np.repeat(shift_R.numpy(), length_R.numpy()))
        order_N = torch.arange(len(shift_N)) + shift_N
        back_N = torch.empty_like(order_N).scatter_(0, order_N, torch.arange(len(order_N)))
        return cls(order_N.to(device), back_N.to(device), tuple(rows), layouts)

    def split(self, x_N: Tensor) -> tuple[Tensor, ...]:
        moved = x_N if self.order_N is None else _Move.apply(x_N, self.order_N, self.back_N)  # type: ignore[no-untyped-call]
        return moved.split([len(layout.row_N) for layout in self.layouts])

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        joined = torch.cat(list(parts))
        if self.order_N is None:
            return joined
        return _Move.apply(joined, self.back_N, self.order_N)  # type: ignore[no-untyped-call]


class _Move(torch.autograd.Function):
    """Tokens in another order; its gradient is the way back, where a gather's own would be a slow scatter."""

    @staticmethod
    def forward(ctx: Any, x_N: Tensor, order_N: Tensor, back_N: Tensor) -> Tensor:
        ctx.save_for_backward(back_N)
        return x_N.index_select(0, order_N)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return grads[0].index_select(0, ctx.saved_tensors[0]), None, None


def parts_of(layout: Packed) -> Parts | None:
    """Rows that stand sorted by length form a few parts; of others those whose lengths agree up to a factor of two, and
    none where most of the padded form is real anyway.
    """
    if (
        torch.compiler.is_compiling()
        or layout.real_N is not None
        or layout.structure_BTT is not None
        or layout.edges is not None
    ):
        return None
    if layout.lengths_host_B is None:
        return None
    if "parts" not in layout.memo:
        layout.memo["parts"] = _parts_of(layout)
    parts: Parts | None = layout.memo["parts"]
    return parts


def _parts_of(layout: Packed) -> Parts | None:
    assert layout.lengths_host_B is not None
    sizes = alike(layout.lengths_host_B.tolist())
    if len(sizes) > 1:
        return Parts.of(layout, torch.arange(layout.rows).split(sizes))
    if layout.rows * layout.longest <= 2 * len(layout.row_N):
        return None
    size_B = layout.lengths_host_B.clamp(min=1).double().log2().ceil()
    sizes = size_B.unique()
    return Parts.of(layout, [(size_B == size).nonzero()[:, 0] for size in sizes]) if len(sizes) > 1 else None


def parts_like(layout: Packed, other: Parts) -> Parts:
    """The parts of a memory: the same rows together as in what reads it."""
    known: tuple[Parts, Parts] | None = layout.memo.get("like")
    if known is None or known[0] is not other:
        known = layout.memo["like"] = (other, Parts.of(layout, other.rows))
    return known[1]
