"""f(gate) · value of a gated layer, whose gates and values lie side by side: one pass there, and one back."""
# N tokens  F hidden width

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 1024  # numbers that a program has in hand
KINDS = {"silu": 0, "gelu": 1, "gelu-tanh": 2, "relu": 3}
"""Functions that it knows."""


@triton.jit
def _both(x, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    """f(x) and its slope."""
    if KIND == 0:
        s = tl.sigmoid(x)
        return x * s, s * (1.0 + x * (1.0 - s))
    if KIND == 1:
        below = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
        return x * below, below + x * 0.3989422804014327 * tl.exp(-0.5 * x * x)
    if KIND == 2:  # x σ(2c(x + 0.044715 x³)), c = √(2/π)
        s = tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
        return x * s, s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    above = tl.where(x > 0, 1.0, 0.0)
    return x * above, above


@triton.jit
def _gate(h_ptr, y_ptr, F, h_n, BLOCK: tl.constexpr, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(h_ptr + row * h_n + at, mask=at < F, other=0.0).to(tl.float32)
    value = tl.load(h_ptr + row * h_n + F + at, mask=at < F, other=0.0).to(tl.float32)
    made, _ = _both(gate, KIND)
    tl.store(y_ptr + row * F + at, (made * value).to(y_ptr.dtype.element_ty), mask=at < F)


@triton.jit
def _back(h_ptr, dy_ptr, dh_ptr, F, h_n, BLOCK: tl.constexpr, KIND: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(h_ptr + row * h_n + at, mask=at < F, other=0.0).to(tl.float32)
    value = tl.load(h_ptr + row * h_n + F + at, mask=at < F, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * F + at, mask=at < F, other=0.0).to(tl.float32)
    made, slope = _both(gate, KIND)
    to = dh_ptr + row * 2 * F + at
    tl.store(to, (dy * value * slope).to(dh_ptr.dtype.element_ty), mask=at < F)
    tl.store(to + F, (dy * made).to(dh_ptr.dtype.element_ty), mask=at < F)


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, kind: int) -> Tensor:
        h_N2F = _rows(hidden)
        F = h_N2F.shape[1] // 2
        y = torch.empty(*hidden.shape[:-1], F, dtype=hidden.dtype, device=hidden.device)
        if y.numel():
            _gate[len(h_N2F), triton.cdiv(F, BLOCK)](h_N2F, y, F, h_N2F.stride(0), BLOCK=BLOCK, KIND=kind, num_warps=4)
        ctx.save_for_backward(hidden)
        ctx.kind = kind
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (hidden,) = ctx.saved_tensors
        h_N2F, dy = _rows(hidden), grads[0].contiguous()
        F = h_N2F.shape[1] // 2
        dh = torch.empty(hidden.shape, dtype=hidden.dtype, device=hidden.device)
        if dy.numel():
            grid = (len(h_N2F), triton.cdiv(F, BLOCK))
            _back[grid](h_N2F, dy, dh, F, h_N2F.stride(0), BLOCK=BLOCK, KIND=ctx.kind, num_warps=4)
        return dh, None


def gated(hidden: Tensor, activation: str) -> Tensor:
    """hidden_…2F: gates, then values. y_…F."""
    y: Tensor = _Gated.apply(hidden, KINDS[activation])  # type: ignore[no-untyped-call]
    return y


def _rows(x: Tensor) -> Tensor:
    x_ND = x.reshape(-1, x.shape[-1])
    return x_ND if x_ND.stride(1) == 1 else x_ND.contiguous()
