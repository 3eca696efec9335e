"""Sums over tokens: the gradients of biases and gains."""
# N tokens  D features  P programs

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 64, 64  # of a tile
PROGRAMS = 64  # over the tokens
TILES = 1024  # of columns, for which a count is kept

_counts: dict[tuple[int, int], Tensor] = {}
"""For each stream of each device, how many programs are done with each tile: 0 before and behind each kernel. They are
never given back, as recordings know where they are."""


# how many there are differs from frame to frame, and no kernel is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N", "share"])
def _sums(  # type: ignore[no-untyped-def]
    x_ptr, y_ptr, z_ptr, parts_ptr, sum_ptr, done_ptr, N, D, stride, share,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, RECTIFIES: tl.constexpr,
):  # fmt: skip
    """Of x, or of z, which is x where y is above 0.

    parts[p] is the sum over the p-th share of the rows; whoever is last sums these, always in the same order.
    """
    tile, many = tl.program_id(0), tl.num_programs(1)
    column = tile * COLUMNS + tl.arange(0, COLUMNS)
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
    tl.store(parts_ptr + tl.program_id(1) * D + column, tl.sum(total, 0), mask=column < D)
    tl.debug_barrier()  # all threads have written when one of them says so
    if tl.atomic_add(done_ptr + tile, 1, sem="acq_rel") == many - 1:
        total = tl.zeros((ROWS, COLUMNS), tl.float32)
        for start in range(0, many, ROWS):
            row = start + tl.arange(0, ROWS)
            part = (row < many)[:, None] & (column < D)[None, :]
            total += tl.load(parts_ptr + row[:, None] * D + column[None, :], mask=part, other=0.0, cache_modifier=".cg")
        tl.store(sum_ptr + column, tl.sum(total, 0), mask=column < D)
        tl.store(done_ptr + tile, 0)


def column_sums(x_ND: Tensor) -> Tensor:
    """sum_D in float32: many programs share the work."""
    return _summed(x_ND, x_ND, x_ND)


def rectified_back(x_ND: Tensor, y_ND: Tensor) -> tuple[Tensor, Tensor]:
    """z_ND: x where y is above 0, else 0; and its sum over the tokens, sum_D in float32. Both lie end to end."""
    z_ND = torch.empty_like(x_ND)
    return z_ND, _summed(x_ND, y_ND, z_ND)


def _summed(x_ND: Tensor, y_ND: Tensor, z_ND: Tensor) -> Tensor:
    """z_ND: another than x: it is written."""
    N, D = x_ND.shape
    programs, tiles = max(1, min(PROGRAMS, triton.cdiv(N, ROWS))), triton.cdiv(D, COLUMNS)
    parts_PD = torch.empty(programs, D, dtype=torch.float32, device=x_ND.device)
    sum_D = parts_PD.new_empty(D)
    shape = {"ROWS": ROWS, "COLUMNS": COLUMNS, "RECTIFIES": z_ND is not x_ND}
    _sums[(tiles, programs)](
        x_ND, y_ND, z_ND, parts_PD, sum_D, _count(x_ND.device, tiles), N, D, x_ND.stride(0), triton.cdiv(N, programs),
        **shape, num_warps=4,
    )  # fmt: skip
    return sum_D


def _count(device: torch.device, tiles: int) -> Tensor:
    """Kernels of one stream work one after the other, and so may share it."""
    cuda = device.type == "cuda"
    key = device.index or 0, torch.cuda.current_stream(device).cuda_stream if cuda else 0
    if key in _counts and tiles <= TILES:
        return _counts[key]
    made = torch.zeros(max(tiles, TILES), dtype=torch.int32, device=device)
    if tiles <= TILES and not (cuda and torch.cuda.is_current_stream_capturing()):  # what is recorded is not done yet
        _counts[key] = made
    return made
