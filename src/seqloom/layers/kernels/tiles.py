"""Attention over packed rows in tiles that hold several short rows: Triton kernels for a GPU.

Ready kernels give each row tiles of its own, 128 × 128 of them: of a row of 27 tokens that is 22 times too much. Here
the rows lie end to end as they are packed, a tile cuts them wherever it does, and each query knows the range of keys
that it may see: causal order, windows and blocks are ranges too. Each key knows its range of queries for the way back.
"""
# N query tokens  M key tokens  H query heads  G key heads  K head width

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.apart import empty_beside, side_by_side

LOG2_E = 1.4426950408889634
OWN = 64  # queries of a program, or keys of one on the way back
OTHERS = 32  # keys, or queries, that it meets at a time: short rows end soon
WARPS = 4


@triton.jit
def _kept(seed, query, head, heads, key, dropout):  # type: ignore[no-untyped-def]
    """Which weights stay: a hash of where they are (the last mixing of MurmurHash3). One of query, key lies across."""
    x = seed ^ ((query * heads + head).to(tl.uint32) * 0x9E3779B1)
    x = (x + key.to(tl.uint32) * 0x85EBCA77).to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13)) * 0xC2B2AE35
    x = x ^ (x >> 16)
    return (x >> 8).to(tl.float32) * (1.0 / 16777216.0) >= dropout


# a kernel for any number of tokens: none is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N"], do_not_specialize_on_alignment=["high_ptr"])
def _forward(  # type: ignore[no-untyped-def]
    q_ptr, k_ptr, v_ptr, y_ptr, spread_ptr, low_ptr, high_ptr, seed_ptr,
    scale, dropout, N, H, K,
    q_n, q_h, k_n, k_h, v_n, v_h, y_n, y_h,
    SHARED: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)  # times a stride it may be beyond 32 bits
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide = tl.arange(0, WIDTH)
    inside = at < N
    low = tl.load(low_ptr + at, mask=inside, other=2147483647)
    high = tl.load(high_ptr + at, mask=inside, other=0)
    end = tl.max(high, 0)
    begin = tl.minimum(tl.min(low, 0), end)  # a tile of filler alone sees nothing
    seed = tl.load(seed_ptr).to(tl.uint32) if DROPS else 0
    part = inside[:, None] & (wide < K)[None, :]
    far = at.to(tl.int64)[:, None]
    q = tl.load(q_ptr + far * q_n + head * q_h + wide[None, :], mask=part, other=0.0)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    y = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(begin, end, COLUMNS):
        key = start + tl.arange(0, COLUMNS)
        there = (key < end)[:, None] & (wide < K)[None, :]
        from_k = k_ptr + key.to(tl.int64)[:, None] * k_n + (head // SHARED) * k_h + wide[None, :]
        from_v = v_ptr + key.to(tl.int64)[:, None] * v_n + (head // SHARED) * v_h + wide[None, :]
        k = tl.load(from_k, mask=there, other=0.0)
        v = tl.load(from_v, mask=there, other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        sees = (key[None, :] >= low[:, None]) & (key[None, :] < high[:, None])
        score = tl.where(sees, score, float("-inf"))
        newtop = tl.maximum(top, tl.max(score, 1))
        safe = tl.where(newtop == float("-inf"), 0.0, newtop)
        weight = tl.exp2(score - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(weight, 1)
        if DROPS:
            weight = tl.where(_kept(seed, at[:, None], head, H, key[None, :], dropout), weight / (1.0 - dropout), 0.0)
        y = y * shrink[:, None] + tl.dot(weight.to(v.dtype), v)
        top = newtop
    some = total > 0
    y = y / tl.where(some, total, 1.0)[:, None]
    spread = tl.where(some, top + tl.log2(tl.where(some, total, 1.0)), 0.0)
    to = y_ptr + far * y_n + head * y_h + wide[None, :]
    tl.store(to, y.to(y_ptr.dtype.element_ty), mask=part)
    tl.store(spread_ptr + at.to(tl.int64) * H + head, spread, mask=inside)


@triton.jit(do_not_specialize=["N"], do_not_specialize_on_alignment=["high_ptr"])
def _backward_queries(  # type: ignore[no-untyped-def]
    q_ptr, k_ptr, v_ptr, y_ptr, dy_ptr, dq_ptr, spread_ptr, delta_ptr, low_ptr, high_ptr, seed_ptr,
    scale, plain_scale, dropout, N, H, K,
    q_n, q_h, k_n, k_h, v_n, v_h, y_n, y_h, dy_n, dy_h, dq_n, dq_h,
    SHARED: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide = tl.arange(0, WIDTH)
    inside = at < N
    low = tl.load(low_ptr + at, mask=inside, other=2147483647)
    high = tl.load(high_ptr + at, mask=inside, other=0)
    end = tl.max(high, 0)
    begin = tl.minimum(tl.min(low, 0), end)  # a tile of filler alone sees nothing
    seed = tl.load(seed_ptr).to(tl.uint32) if DROPS else 0
    part = inside[:, None] & (wide < K)[None, :]
    far = at.to(tl.int64)[:, None]
    q = tl.load(q_ptr + far * q_n + head * q_h + wide[None, :], mask=part, other=0.0)
    y = tl.load(y_ptr + far * y_n + head * y_h + wide[None, :], mask=part, other=0.0)
    dy = tl.load(dy_ptr + far * dy_n + head * dy_h + wide[None, :], mask=part, other=0.0)
    delta = tl.sum(y.to(tl.float32) * dy.to(tl.float32), 1)
    tl.store(delta_ptr + at.to(tl.int64) * H + head, delta, mask=inside)
    spread = tl.load(spread_ptr + at.to(tl.int64) * H + head, mask=inside, other=0.0)
    dq = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(begin, end, COLUMNS):
        key = start + tl.arange(0, COLUMNS)
        there = (key < end)[:, None] & (wide < K)[None, :]
        from_k = k_ptr + key.to(tl.int64)[:, None] * k_n + (head // SHARED) * k_h + wide[None, :]
        from_v = v_ptr + key.to(tl.int64)[:, None] * v_n + (head // SHARED) * v_h + wide[None, :]
        k = tl.load(from_k, mask=there, other=0.0)
        v = tl.load(from_v, mask=there, other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        sees = (key[None, :] >= low[:, None]) & (key[None, :] < high[:, None])
        weight = tl.where(sees, tl.exp2(score - spread[:, None]), 0.0)
        dweight = tl.dot(dy, tl.trans(v))
        if DROPS:
            dweight = tl.where(_kept(seed, at[:, None], head, H, key[None, :], dropout), dweight / (1.0 - dropout), 0.0)
        dscore = weight * (dweight - delta[:, None])
        dq += tl.dot(dscore.to(k.dtype), k)
    to = dq_ptr + far * dq_n + head * dq_h + wide[None, :]
    tl.store(to, (dq * plain_scale).to(dq_ptr.dtype.element_ty), mask=part)


@triton.jit(do_not_specialize=["M"], do_not_specialize_on_alignment=["high_ptr"])
def _backward_keys(  # type: ignore[no-untyped-def]
    q_ptr, k_ptr, v_ptr, dy_ptr, dk_ptr, dv_ptr, spread_ptr, delta_ptr, low_ptr, high_ptr, seed_ptr,
    scale, plain_scale, dropout, M, H, K,
    q_n, q_h, k_n, k_h, v_n, v_h, dy_n, dy_h, dk_n, dk_h, dv_n, dv_h,
    SHARED: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    """low, high: of the queries that see each key."""
    group = tl.program_id(1).to(tl.int64)
    key = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    wide = tl.arange(0, WIDTH)
    inside = key < M
    low = tl.load(low_ptr + key, mask=inside, other=2147483647)
    high = tl.load(high_ptr + key, mask=inside, other=0)
    end = tl.max(high, 0)
    begin = tl.minimum(tl.min(low, 0), end)  # a tile of filler alone sees nothing
    seed = tl.load(seed_ptr).to(tl.uint32) if DROPS else 0
    part = inside[:, None] & (wide < K)[None, :]
    far = key.to(tl.int64)[:, None]
    k = tl.load(k_ptr + far * k_n + group * k_h + wide[None, :], mask=part, other=0.0)
    v = tl.load(v_ptr + far * v_n + group * v_h + wide[None, :], mask=part, other=0.0)
    dk = tl.zeros((COLUMNS, WIDTH), tl.float32)
    dv = tl.zeros((COLUMNS, WIDTH), tl.float32)
    for number in range(SHARED):
        head = group * SHARED + number
        for start in range(begin, end, ROWS):
            at = start + tl.arange(0, ROWS)
            distant = at.to(tl.int64)
            there = at < end
            seen = there[:, None] & (wide < K)[None, :]
            q = tl.load(q_ptr + distant[:, None] * q_n + head * q_h + wide[None, :], mask=seen, other=0.0)
            dy = tl.load(dy_ptr + distant[:, None] * dy_n + head * dy_h + wide[None, :], mask=seen, other=0.0)
            spread = tl.load(spread_ptr + distant * H + head, mask=there, other=0.0)
            delta = tl.load(delta_ptr + distant * H + head, mask=there, other=0.0)
            # keys down, queries across: so the weights can be multiplied as they lie, without being turned
            score = tl.dot(k, tl.trans(q)) * scale
            sees = (at[None, :] >= low[:, None]) & (at[None, :] < high[:, None])
            weight = tl.where(sees, tl.exp2(score - spread[None, :]), 0.0)
            dweight = tl.dot(v, tl.trans(dy))
            dropped = weight
            if DROPS:
                kept = _kept(seed, at[None, :], head, H, key[:, None], dropout)
                dropped = tl.where(kept, weight / (1.0 - dropout), 0.0)
                dweight = tl.where(kept, dweight / (1.0 - dropout), 0.0)
            dv += tl.dot(dropped.to(dy.dtype), dy)
            dscore = weight * (dweight - delta[None, :])
            dk += tl.dot(dscore.to(q.dtype), q)
    to_k = dk_ptr + far * dk_n + group * dk_h + wide[None, :]
    to_v = dv_ptr + far * dv_n + group * dv_h + wide[None, :]
    tl.store(to_k, (dk * plain_scale).to(dk_ptr.dtype.element_ty), mask=part)
    tl.store(to_v, dv.to(dv_ptr.dtype.element_ty), mask=part)


class Tiled(torch.autograd.Function):
    """y_NHK. The last axis of each tensor lies end to end in memory."""

    @staticmethod
    def forward(
        ctx: Any,
        q_NHK: Tensor,
        k_MGK: Tensor,
        v_MGK: Tensor,
        seen_2N: Tensor,
        seen_2M: Tensor,
        scale: float,
        dropout: float,
    ) -> Tensor:
        (N, H, K), G = q_NHK.shape, k_MGK.shape[1]
        y_NHK = torch.empty_like(q_NHK, memory_format=torch.contiguous_format)
        spread_NH = torch.empty(N, H, dtype=torch.float32, device=q_NHK.device)
        seed = torch.randint(2**31 - 1, (1,), device=q_NHK.device, dtype=torch.int32) if dropout else seen_2N
        shape = {"SHARED": H // G, "WIDTH": _wide(K), "ROWS": OWN, "COLUMNS": OTHERS, "DROPS": dropout > 0}
        grid = (triton.cdiv(N, OWN), H)
        _forward[grid](
            q_NHK, k_MGK, v_MGK, y_NHK, spread_NH, seen_2N[0], seen_2N[1], seed,
            scale * LOG2_E, dropout, N, H, K,
            *_strides(q_NHK), *_strides(k_MGK), *_strides(v_MGK), *_strides(y_NHK),
            **shape, num_warps=WARPS,
        )  # fmt: skip
        ctx.save_for_backward(q_NHK, k_MGK, v_MGK, y_NHK, spread_NH, seen_2N, seen_2M, seed)
        ctx.scale, ctx.dropout, ctx.shape = scale, dropout, shape
        return y_NHK

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q_NHK, k_MGK, v_MGK, y_NHK, spread_NH, seen_2N, seen_2M, seed = ctx.saved_tensors
        dy_NHK = grads[0] if grads[0].stride(-1) == 1 else grads[0].contiguous()
        (N, H, K), (M, G, _) = q_NHK.shape, k_MGK.shape
        if side_by_side((q_NHK, k_MGK, v_MGK)) is not None:
            dq, dk, dv = empty_beside((q_NHK, k_MGK, v_MGK))
        else:  # of two sequences, perhaps
            (dq,), (dk, dv) = empty_beside((q_NHK,)), empty_beside((k_MGK, v_MGK))
        delta_NH = torch.empty_like(spread_NH)
        scales = ctx.scale * LOG2_E, ctx.scale, ctx.dropout
        _backward_queries[triton.cdiv(N, OWN), H](
            q_NHK, k_MGK, v_MGK, y_NHK, dy_NHK, dq, spread_NH, delta_NH, seen_2N[0], seen_2N[1], seed,
            *scales, N, H, K,
            *_strides(q_NHK), *_strides(k_MGK), *_strides(v_MGK), *_strides(y_NHK), *_strides(dy_NHK), *_strides(dq),
            **ctx.shape, num_warps=WARPS,
        )  # fmt: skip
        _backward_keys[triton.cdiv(M, OWN), G](
            q_NHK, k_MGK, v_MGK, dy_NHK, dk, dv, spread_NH, delta_NH, seen_2M[0], seen_2M[1], seed,
            *scales, M, H, K,
            *_strides(q_NHK), *_strides(k_MGK), *_strides(v_MGK), *_strides(dy_NHK), *_strides(dk), *_strides(dv),
            **(ctx.shape | {"ROWS": OTHERS, "COLUMNS": OWN}), num_warps=WARPS,
        )  # fmt: skip
        return dq, dk, dv, None, None, None, None


def _wide(width: int) -> int:
    """Products of a tile are at least 16 wide, in powers of two."""
    return max(16, 1 << (width - 1).bit_length())


def _strides(x: Tensor) -> tuple[int, int]:
    return x.stride(0), x.stride(1)
