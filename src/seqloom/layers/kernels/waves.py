"""Sinusoids of positions, in one pass."""
# N positions  D features

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 2048  # numbers that a program has in hand
TURN = tl.constexpr(2 * math.pi)


# a kernel for any number of positions: none is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N"])
def _waves(at_ptr, rate_ptr, phase_ptr, out_ptr, N, D, ROWS: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """The angle of a far position has few digits left behind the point: whole turns are taken off in float64."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide = tl.arange(0, WIDTH)
    at = tl.load(at_ptr + row, mask=row < N, other=0).to(tl.float64)
    rate = tl.load(rate_ptr + wide, mask=wide < D, other=0.0)
    phase = tl.load(phase_ptr + wide, mask=wide < D, other=0.0)
    turns = (at[:, None] * rate[None, :] + phase[None, :]) / TURN
    wave = tl.sin((turns - tl.floor(turns + 0.5)).to(tl.float32) * TURN)
    to = out_ptr + row.to(tl.int64)[:, None] * D + wide[None, :]
    tl.store(to, wave.to(out_ptr.dtype.element_ty), mask=(row < N)[:, None] & (wide < D)[None, :])


def waves(at: Tensor, rate_D: Tensor, phase_D: Tensor, dtype: torch.dtype) -> Tensor:
    """sin(rate · at + phase), on a new last axis; rates and phases are in float64."""
    D = len(rate_D)
    out = torch.empty(*at.shape, D, dtype=dtype, device=at.device)
    wide = 1 << (D - 1).bit_length()
    rows = max(1, TILE // wide)
    if at.numel():
        grid = (triton.cdiv(at.numel(), rows),)
        _waves[grid](at.contiguous(), rate_D, phase_D, out, at.numel(), D, ROWS=rows, WIDTH=wide, num_warps=4)
    return out
