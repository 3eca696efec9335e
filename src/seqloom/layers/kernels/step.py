"""One query to each row and head over its past, or over a memory: softmax(scale · qkᵀ) v in one pass, in float32."""
# R rows  P rows of the past  H query heads  G key heads  S places  K key width  V value width

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 16  # places that a program has in hand: few, so that many programs run side by side
SHARED_BLOCK = 32  # the same, where several queries read them


@triton.jit
def _attend(  # type: ignore[no-untyped-def]
    q_ptr, k_ptr, v_ptr, keys_ptr, values_ptr, lengths_ptr, writer_ptr, y_ptr,
    scale, q_row, q_head, k_row, k_head, v_row, v_head, S,
    H: tl.constexpr, G: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    WIDE_K: tl.constexpr, WIDE_V: tl.constexpr, BLOCK: tl.constexpr,
    FAN: tl.constexpr, NEW: tl.constexpr, FORKS: tl.constexpr, WINDOW: tl.constexpr, APART: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    group = head // (H // G)
    wide_k, wide_v = tl.arange(0, WIDE_K), tl.arange(0, WIDE_V)
    in_k, in_v = wide_k < K, wide_v < V
    q = tl.load(q_ptr + row * q_row + head * q_head + wide_k, mask=in_k, other=0.0).to(tl.float32) * scale
    owner = row if NEW or FORKS else row // FAN
    length = tl.load(lengths_ptr + owner).to(tl.int32)
    if NEW:
        k = tl.load(k_ptr + row * k_row + group * k_head + wide_k, mask=in_k, other=0.0)
        v = tl.load(v_ptr + row * v_row + group * v_head + wide_v, mask=in_v, other=0.0)
        # nobody reads this place in this step: all who need it have it at hand
        if head % (H // G) == 0:
            place = (row * G + group) * S + length
            tl.store(keys_ptr + place * K + wide_k, k.to(keys_ptr.dtype.element_ty), mask=in_k)
            tl.store(values_ptr + place * V + wide_v, v.to(values_ptr.dtype.element_ty), mask=in_v)
        most = tl.sum(q * k.to(tl.float32), 0)
        total = 1.0
        y = v.to(tl.float32)
    else:
        most = -1e30
        total = 0.0
        y = tl.zeros([WIDE_V], dtype=tl.float32)
    first = 0
    if WINDOW > 0:
        first = tl.maximum(length + 1 - WINDOW, 0)
    if APART > 0:
        first = length // APART * APART
    for begin in range(first, length, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        real = at < length
        if FORKS:
            whose = tl.load(writer_ptr + row * S + at, mask=real, other=0) + row // FAN * FAN
        else:
            whose = tl.zeros([BLOCK], dtype=tl.int64) + owner
        place = (whose * G + group) * S + at
        keys = tl.load(
            keys_ptr + place[:, None] * K + wide_k[None, :], mask=real[:, None] & in_k[None, :], other=0.0
        ).to(tl.float32)
        values = tl.load(
            values_ptr + place[:, None] * V + wide_v[None, :], mask=real[:, None] & in_v[None, :], other=0.0
        ).to(tl.float32)
        score = tl.where(real, tl.sum(keys * q[None, :], 1), float("-inf"))
        higher = tl.maximum(most, tl.max(score, 0))
        weight = tl.exp(score - higher)
        faded = tl.exp(most - higher)
        total = total * faded + tl.sum(weight, 0)
        y = y * faded + tl.sum(weight[:, None] * values, 0)
        most = higher
    y = y / tl.where(total > 0.0, total, 1.0)
    tl.store(y_ptr + (row * H + head) * V + wide_v, y.to(y_ptr.dtype.element_ty), mask=in_v)


@triton.jit
def _attend_shared(  # type: ignore[no-untyped-def]
    q_ptr, keys_ptr, values_ptr, lengths_ptr, y_ptr, scale, q_row, q_head, S,
    H: tl.constexpr, G: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    WIDE_K: tl.constexpr, WIDE_V: tl.constexpr, BLOCK: tl.constexpr, FAN: tl.constexpr, QUERIES: tl.constexpr,
):  # fmt: skip
    item, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    wide_k, wide_v, number = tl.arange(0, WIDE_K), tl.arange(0, WIDE_V), tl.arange(0, QUERIES)
    in_k, in_v, asks = wide_k < K, wide_v < V, number < FAN
    row = item * FAN + number
    q = tl.load(
        q_ptr + row[:, None] * q_row + head * q_head + wide_k[None, :], mask=asks[:, None] & in_k[None, :], other=0.0
    )
    length = tl.load(lengths_ptr + item).to(tl.int32)
    from_item = (item * G + head // (H // G)) * S
    most = tl.full([QUERIES], -1e30, dtype=tl.float32)
    total = tl.zeros([QUERIES], dtype=tl.float32)
    y = tl.zeros([QUERIES, WIDE_V], dtype=tl.float32)
    for begin in range(0, length, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        real, place = at < length, from_item + at
        keys = tl.load(keys_ptr + place[:, None] * K + wide_k[None, :], mask=real[:, None] & in_k[None, :], other=0.0)
        values = tl.load(
            values_ptr + place[:, None] * V + wide_v[None, :], mask=real[:, None] & in_v[None, :], other=0.0
        )
        score = tl.dot(q, tl.trans(keys), input_precision="ieee") * scale
        score = tl.where(real[None, :], score, float("-inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp(score - higher[:, None])
        faded = tl.exp(most - higher)
        total = total * faded + tl.sum(weight, 1)
        y = y * faded[:, None] + tl.dot(weight.to(values.dtype), values, input_precision="ieee")
        most = higher
    y = y / tl.where(total > 0.0, total, 1.0)[:, None]
    to = y_ptr + (row[:, None] * H + head) * V + wide_v[None, :]
    tl.store(to, y.to(y_ptr.dtype.element_ty), mask=asks[:, None] & in_v[None, :])


class Past(NamedTuple):
    """fan: so many rows share a row of a memory; or are an item's hypotheses, who read each other's steps: writer."""

    keys_PGSK: Tensor
    values_PGSV: Tensor
    lengths_P: Tensor
    fan: int
    writer_RS: Tensor | None


def attended(
    q_RHK: Tensor, past: Past, scale: float, new: tuple[Tensor, Tensor] | None, window: int = 0, apart: int = 0
) -> Tensor:
    """y_RHV. new: each row's k_RGK and v_RGV, which are written behind its past and read with it.

    window: so many steps are seen, the new one too. apart: those of its own block of so many. 0: all.
    """
    (R, H, K), (_, G, S, V) = q_RHK.shape, past.values_PGSV.shape
    y_RHV = torch.empty(R, H, V, dtype=q_RHK.dtype, device=q_RHK.device)
    q_RHK = _rows(q_RHK)
    if (
        new is None and past.fan > 1 and past.writer_RS is None and q_RHK.dtype != torch.float32
    ):  # whose products would not be exact
        return _shared(q_RHK, past, scale, y_RHV)
    k_RGK, v_RGV = (q_RHK, q_RHK) if new is None else (_rows(new[0]), _rows(new[1]))
    writer_RS = past.lengths_P if past.writer_RS is None else past.writer_RS
    wide = _wide(K), _wide(V)
    _attend[(R, H)](
        q_RHK, k_RGK, v_RGV, past.keys_PGSK, past.values_PGSV, past.lengths_P, writer_RS, y_RHV,
        scale, *q_RHK.stride()[:2], *k_RGK.stride()[:2], *v_RGV.stride()[:2], S,
        H, G, K, V, *wide, BLOCK, past.fan, new is not None, past.writer_RS is not None, window, apart,
        num_warps=max(1, max(wide) // 64),
    )  # fmt: skip
    return y_RHV


def _shared(q_RHK: Tensor, past: Past, scale: float, y_RHV: Tensor) -> Tensor:
    """Rows that share a memory ask it together."""
    (R, H, K), (_, G, S, V) = q_RHK.shape, past.values_PGSV.shape
    wide, queries = (_wide(K), _wide(V)), _wide(past.fan)
    _attend_shared[(R // past.fan, H)](
        q_RHK, past.keys_PGSK, past.values_PGSV, past.lengths_P, y_RHV, scale, *q_RHK.stride()[:2], S,
        H, G, K, V, *wide, SHARED_BLOCK, past.fan, queries,
        num_warps=max(2, max(wide) * queries // 1024), num_stages=1,
    )  # fmt: skip
    return y_RHV


def _rows(x_RHK: Tensor) -> Tensor:
    """The numbers of a head lie side by side."""
    return x_RHK if x_RHK.stride(2) == 1 else x_RHK.contiguous()


def _wide(width: int) -> int:
    return 1 << max(width - 1, 15).bit_length()
