"""Rows that move: from one behind the other into rows of their own, and from there to places in a larger buffer."""
# N tokens  B rows  T steps of each  A rows of a buffer  S steps that fit into it  G heads  K head width

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 32  # steps of a head that a program has in hand


# a kernel for frames of any size, as there are several
@triton.jit(do_not_specialize=["T"])
def _spread(  # type: ignore[no-untyped-def]
    x_ptr, offsets_ptr, out_ptr, x_n, x_g, T, G: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr
):
    # times a stride they may be beyond 32 bits
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    step, wide = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, WIDE)
    begin = tl.load(offsets_ptr + row).to(tl.int64)
    length = tl.load(offsets_ptr + row + 1) - begin
    inside, part = (wide < K)[None, :], (step < T)[:, None]
    origin = x_ptr + (begin + step)[:, None] * x_n + head * x_g + wide[None, :]
    x = tl.load(origin, mask=(step < length)[:, None] & part & inside, other=0.0)
    tl.store(out_ptr + ((row * G + head) * T + step)[:, None] * K + wide[None, :], x, mask=part & inside)


@triton.jit(do_not_specialize=["T", "S"])
def _put(  # type: ignore[no-untyped-def]
    x_ptr, rows_ptr, out_ptr, x_b, x_g, x_t, T, S,
    G: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    step, wide = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, WIDE)
    part = (step < T)[:, None] & (wide < K)[None, :]
    to = tl.load(rows_ptr + row).to(tl.int64)
    origin = x_ptr + row * x_b + head * x_g + step.to(tl.int64)[:, None] * x_t + wide[None, :]
    x = tl.load(origin, mask=part, other=0.0).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + ((to * G + head) * S + step)[:, None] * K + wide[None, :], x, mask=part)


def spread(x_NGK: Tensor, offsets_B1: Tensor, most: int) -> Tensor:
    """x_BGTK, with zeros behind each row; most: T."""
    (_, G, K), B = x_NGK.shape, len(offsets_B1) - 1
    x_NGK = x_NGK if x_NGK.stride(2) == 1 else x_NGK.contiguous()
    out_BGTK = torch.empty(B, G, most, K, dtype=x_NGK.dtype, device=x_NGK.device)
    if out_BGTK.numel():
        _spread[(B, G, triton.cdiv(most, BLOCK))](
            x_NGK, offsets_B1, out_BGTK, *x_NGK.stride()[:2], most, G, K, triton.next_power_of_2(K), BLOCK, num_warps=4
        )
    return out_BGTK


def put_steps(buffer_AGSK: Tensor, rows_B: Tensor, x_BGTK: Tensor) -> None:
    """The first T steps of these rows, which lie one behind the other in the buffer."""
    (B, G, T, K), S = x_BGTK.shape, buffer_AGSK.shape[2]
    x_BGTK = x_BGTK if x_BGTK.stride(3) == 1 else x_BGTK.contiguous()
    if x_BGTK.numel():
        _put[(B, G, triton.cdiv(T, BLOCK))](
            x_BGTK, rows_B, buffer_AGSK, *x_BGTK.stride()[:3], T, S, G, K, triton.next_power_of_2(K), BLOCK, num_warps=4
        )
