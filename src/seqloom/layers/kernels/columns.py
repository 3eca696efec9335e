"""Sums over tokens: the gradients of biases and gains."""
# N tokens  D features  P programs

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 64, 64  # of a tile
PROGRAMS = 64  # over the tokens
LAST = 16  # columns of a tile where a program sums all that others have summed: many programs, with little each


# how many there are differs from frame to frame, and no kernel is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N", "share"])
def _sums(  # type: ignore[no-untyped-def]
    x_ptr, y_ptr, z_ptr, out_ptr, N, D, stride, share,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, RECTIFIES: tl.constexpr,
):  # fmt: skip
    """out[p] is the sum over the p-th share of the rows; of x, or of z, which is x where y is above 0."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    begin = tl.program_id(1) * share
    end = tl.minimum(begin + share, N)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)  # rows meet once, at the end
    for start in range(begin, end, ROWS):
        row = start + tl.arange(0, ROWS)
        part = (row < end)[:, None] & (column < D)[None, :]
        at = row.to(tl.int64)[:, None] * stride + column[None, :]
        x = tl.load(x_ptr + at, mask=part, other=0.0)
        if RECTIFIES:
            x = tl.where(tl.load(y_ptr + at, mask=part, other=0.0) > 0, x, 0.0).to(x_ptr.dtype.element_ty)
            tl.store(z_ptr + at, x, mask=part)
        total += x.to(tl.float32)
    tl.store(out_ptr + tl.program_id(1) * D + column, tl.sum(total, 0), mask=column < D)


def column_sums(x_ND: Tensor) -> Tensor:
    """sum_D in float32, in two steps, so that many programs share the work; always in the same order."""
    programs = _programs(x_ND)
    sums_PD = _summed(x_ND, x_ND, x_ND, programs) if programs > 1 else x_ND
    return _summed(sums_PD, sums_PD, sums_PD, 1)[0]


def rectified_back(x_ND: Tensor, y_ND: Tensor) -> tuple[Tensor, Tensor]:
    """z_ND: x where y is above 0, else 0; and its sum over the tokens, sum_D in float32. Both lie end to end."""
    z_ND = torch.empty_like(x_ND)
    sums_PD = _summed(x_ND, y_ND, z_ND, _programs(x_ND))
    return z_ND, _summed(sums_PD, sums_PD, sums_PD, 1)[0]


def _programs(x_ND: Tensor) -> int:
    return max(1, min(PROGRAMS, triton.cdiv(len(x_ND), ROWS)))


def _summed(x_ND: Tensor, y_ND: Tensor, z_ND: Tensor, programs: int) -> Tensor:
    """z_ND: another than x: it is written."""
    N, D = x_ND.shape
    out_PD = torch.empty(programs, D, dtype=torch.float32, device=x_ND.device)
    columns = COLUMNS if programs > 1 else LAST
    shape = {"ROWS": ROWS, "COLUMNS": columns, "RECTIFIES": z_ND is not x_ND}
    grid = (triton.cdiv(D, columns), programs)
    _sums[grid](x_ND, y_ND, z_ND, out_PD, N, D, x_ND.stride(0), triton.cdiv(N, programs), **shape, num_warps=4)
    return out_PD
