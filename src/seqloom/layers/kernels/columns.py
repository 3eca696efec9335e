"""Sums over tokens: the gradients of biases and gains."""
# N tokens  D features  P programs

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 64, 128  # of a tile
PROGRAMS = 64  # over the tokens


# how many there are differs from frame to frame, and no kernel is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N", "share"])
def _sums(x_ptr, out_ptr, N, D, stride, share, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    """out[p] is the sum over the p-th share of the rows."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    begin = tl.program_id(1) * share
    total = tl.zeros((COLUMNS,), tl.float32)
    for start in range(begin, tl.minimum(begin + share, N), ROWS):
        row = start + tl.arange(0, ROWS)
        part = (row < tl.minimum(begin + share, N))[:, None] & (column < D)[None, :]
        at = row.to(tl.int64)[:, None] * stride + column[None, :]
        total += tl.sum(tl.load(x_ptr + at, mask=part, other=0.0).to(tl.float32), 0)
    tl.store(out_ptr + tl.program_id(1) * D + column, total, mask=column < D)


def column_sums(x_ND: Tensor) -> Tensor:
    """sum_D in float32, in two steps, so that many programs share the work; always in the same order."""
    programs = max(1, min(PROGRAMS, triton.cdiv(len(x_ND), ROWS)))
    sums_PD = _summed(x_ND, programs) if programs > 1 else x_ND
    return _summed(sums_PD, 1)[0]


def _summed(x_ND: Tensor, programs: int) -> Tensor:
    N, D = x_ND.shape
    out_PD = torch.empty(programs, D, dtype=torch.float32, device=x_ND.device)
    grid = (triton.cdiv(D, COLUMNS), programs)
    _sums[grid](x_ND, out_PD, N, D, x_ND.stride(0), triton.cdiv(N, programs), ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4)
    return out_PD
