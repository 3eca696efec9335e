"""Heads that were projected together, taken apart; what lies side by side already is joined without a copy."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.kernels import usable


def apart(heads: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    """x_…(sum of sizes)K → a view x_…(size)K for each size."""
    if usable(heads) and torch.is_grad_enabled():
        parts: tuple[Tensor, ...] = _Apart.apply(heads, *sizes)  # type: ignore[no-untyped-call]
        return parts
    return torch.split_with_sizes(heads, list(sizes), -2)


class _Apart(torch.autograd.Function):
    """torch's way back copies all gradients into one tensor, though kernels can write them there."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, *sizes: int) -> tuple[Tensor, ...]:
        return torch.split_with_sizes(heads, list(sizes), -2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        joined = side_by_side(grads)
        return (torch.cat(grads, -2) if joined is None else joined, *(None for _ in grads))


def side_by_side(parts: Sequence[Tensor]) -> Tensor | None:
    """The whole x_…(sum of sizes)K that these are parts of, as a view; None: there is none."""
    first, sizes = parts[0], [part.shape[-2] for part in parts]
    shape = (*first.shape[:-2], sum(sizes), first.shape[-1])
    strides = [1]
    for size in shape[:0:-1]:
        strides.insert(0, strides[0] * size)
    for part in parts:
        same = part.dtype == first.dtype and part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not same or list(part.stride()) != strides or (*part.shape[:-2], part.shape[-1]) != (*shape[:-2], shape[-1]):
            return None
    steps = (size * shape[-1] for size in sizes)
    if any(
        b.storage_offset() - a.storage_offset() != step for (a, b), step in zip(pairwise(parts), steps, strict=False)
    ):
        return None
    return torch.as_strided(first, shape, strides)


def empty_beside(parts: Sequence[Tensor]) -> list[Tensor]:
    """Room for as many numbers as each has; side by side, if they are."""
    whole = side_by_side(parts)
    if whole is None:
        return [torch.empty_like(part, memory_format=torch.contiguous_format) for part in parts]
    return list(torch.split_with_sizes(torch.empty_like(whole), [part.shape[-2] for part in parts], -2))
