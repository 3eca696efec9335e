"""Rotary positions: pairs of numbers turned by their position, there and back in one pass each."""
# N tokens  H heads  K head width

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE = 512  # pairs that a program has in hand, of each head one after the other
TURN = tl.constexpr(2 * math.pi)


# a kernel for any number of tokens: none is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N"])
def _turn(  # type: ignore[no-untyped-def]
    x_ptr, at_ptr, rate_ptr, out_ptr, N, H, K, pairs, x_n, x_h,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, REST: tl.constexpr, BESIDE: tl.constexpr, BACK: tl.constexpr,
):  # fmt: skip
    """pairs: of a head, that turn. BESIDE: a pair's numbers stand side by side, else half of those that turn apart."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    pair = tl.arange(0, WIDTH)
    part = (row < N)[:, None] & (pair < pairs)[None, :]
    at = tl.load(at_ptr + row, mask=row < N, other=0).to(tl.float64)
    turns = at[:, None] * tl.load(rate_ptr + pair, mask=pair < pairs, other=0.0)[None, :] / TURN
    angle = (turns - tl.floor(turns + 0.5)).to(tl.float32) * TURN  # whole turns are taken off in float64
    cos, sin = tl.cos(angle), tl.sin(angle)
    if BACK:
        sin = -sin
    first = (2 * pair if BESIDE else pair)[None, :]
    second = first + 1 if BESIDE else first + pairs
    for head in range(H):
        origin = (x_ptr + row.to(tl.int64) * x_n + head * x_h)[:, None]
        to = (out_ptr + (row.to(tl.int64) * H + head) * K)[:, None]
        a = tl.load(origin + first, mask=part, other=0.0).to(tl.float32)
        b = tl.load(origin + second, mask=part, other=0.0).to(tl.float32)
        tl.store(to + first, (a * cos - b * sin).to(out_ptr.dtype.element_ty), mask=part)
        tl.store(to + second, (b * cos + a * sin).to(out_ptr.dtype.element_ty), mask=part)
        if REST:
            wide = 2 * pairs + tl.arange(0, REST)
            rest = (row < N)[:, None] & (wide < K)[None, :]
            tl.store(to + wide[None, :], tl.load(origin + wide[None, :], mask=rest, other=0.0), mask=rest)


class _Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, at: Tensor, rate: Tensor, beside: bool) -> Tensor:
        ctx.save_for_backward(at, rate)
        ctx.beside = beside
        return _launched(x, at, rate, beside, back=False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        at, rate = ctx.saved_tensors
        return _launched(grads[0], at, rate, ctx.beside, back=True), None, None, None


def turned(x: Tensor, at: Tensor, rate: Tensor, beside: bool) -> Tensor:
    """x_…HK whose first pairs are turned by position times rate. at: a position a token, rate: one a pair, float64."""
    out: Tensor = _Turned.apply(x, at, rate, beside)  # type: ignore[no-untyped-call]
    return out


def _launched(x: Tensor, at: Tensor, rate: Tensor, beside: bool, back: bool) -> Tensor:
    H, K = x.shape[-2:]
    x_NHK = x.reshape(-1, H, K)
    x_NHK = x_NHK if x_NHK.stride(-1) == 1 else x_NHK.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    N, pairs, rest = x_NHK.shape[0], len(rate), K - 2 * len(rate)
    rows = max(1, TILE // _power(pairs))
    if N:
        _turn[(triton.cdiv(N, rows),)](
            x_NHK, at.contiguous(), rate, out, N, H, K, pairs, x_NHK.stride(0), x_NHK.stride(1),
            ROWS=rows, WIDTH=_power(pairs), REST=_power(rest) if rest else 0, BESIDE=beside, BACK=back, num_warps=4,
        )  # fmt: skip
    return out


def _power(number: int) -> int:
    return 1 << (number - 1).bit_length()
