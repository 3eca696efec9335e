"""scale · (carry · x + dropout(y)), and its layer or RMS norm, in one pass there and one back."""
# N tokens  D features  P programs

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.kernels.columns import column_sums

WARP = 512  # numbers of a row, or of some, that a warp has in hand: within it, sums need not wait for others
WARPS = 2112  # of a way back: its programs sum the gradients of gain and bias over their shares of the tokens


@triton.jit
def _kept(seed, place, rate):  # type: ignore[no-untyped-def]
    """Which numbers stay: a hash of where they are (the last mixing of MurmurHash3)."""
    x = seed ^ (place.to(tl.uint32) * 0x9E3779B1)
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13)) * 0xC2B2AE35
    x = x ^ (x >> 16)
    return (x >> 8).to(tl.float32) * (1.0 / 16777216.0) >= rate


# a kernel for any number of tokens: none is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["N"], do_not_specialize_on_alignment=["inverse_ptr"])
def _forward(  # type: ignore[no-untyped-def]
    x_ptr, y_ptr, sum_ptr, out_ptr, gain_ptr, bias_ptr, mean_ptr, inverse_ptr, seed_ptr,
    carry, scale, rate, epsilon, N, D,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, ADDS: tl.constexpr, NORMS: tl.constexpr, CENTRES: tl.constexpr,
    GAIN: tl.constexpr, BIAS: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide = tl.arange(0, WIDTH)
    part = (row < N)[:, None] & (wide < D)[None, :]
    at = row.to(tl.int64)[:, None] * D + wide[None, :]
    x = tl.load(x_ptr + at, mask=part, other=0.0).to(tl.float32)
    if ADDS:
        y = tl.load(y_ptr + at, mask=part, other=0.0).to(tl.float32)
        if DROPS:
            y = tl.where(_kept(tl.load(seed_ptr).to(tl.uint32), at, rate), y / (1.0 - rate), 0.0)
        x = (x * carry + y) * scale
        tl.store(sum_ptr + at, x.to(sum_ptr.dtype.element_ty), mask=part)
    if NORMS:
        if CENTRES:
            mean = tl.sum(x, 1) / D
            x = tl.where(part, x - mean[:, None], 0.0)
            tl.store(mean_ptr + row, mean, mask=row < N)
        inverse = tl.rsqrt(tl.sum(x * x, 1) / D + epsilon)
        tl.store(inverse_ptr + row, inverse, mask=row < N)
        out = x * inverse[:, None]
        if GAIN:
            out = out * tl.load(gain_ptr + wide, mask=wide < D, other=0.0).to(tl.float32)[None, :]
        if BIAS:
            out = out + tl.load(bias_ptr + wide, mask=wide < D, other=0.0).to(tl.float32)[None, :]
        tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=part)


@triton.jit(do_not_specialize=["N", "stride"], do_not_specialize_on_alignment=["inverse_ptr"])
def _backward(  # type: ignore[no-untyped-def]
    dsum_ptr, dout_ptr, sum_ptr, dx_ptr, dy_ptr, gain_ptr, mean_ptr, inverse_ptr, sums_ptr, seed_ptr,
    carry, scale, rate, N, D, stride,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, ADDS: tl.constexpr, NORMS: tl.constexpr, CENTRES: tl.constexpr,
    GAIN: tl.constexpr, BIAS: tl.constexpr, DROPS: tl.constexpr, HEARS: tl.constexpr, ALIKE: tl.constexpr,
):  # fmt: skip
    """HEARS: the sum itself has a gradient too. ALIKE: dy is dx, and is not written."""
    wide = tl.arange(0, WIDTH)
    gain = tl.full((WIDTH,), 1.0, tl.float32)
    if GAIN:
        gain = tl.load(gain_ptr + wide, mask=wide < D, other=0.0).to(tl.float32)
    dgain = tl.zeros((ROWS, WIDTH), tl.float32)  # rows meet once, at the end
    dbias = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(tl.program_id(0) * ROWS, N, stride):
        row = start + tl.arange(0, ROWS)
        part = (row < N)[:, None] & (wide < D)[None, :]
        at = row.to(tl.int64)[:, None] * D + wide[None, :]
        total = tl.zeros((ROWS, WIDTH), tl.float32)
        if HEARS:
            total = tl.load(dsum_ptr + at, mask=part, other=0.0).to(tl.float32)
        if NORMS:
            dout = tl.load(dout_ptr + at, mask=part, other=0.0).to(tl.float32)
            unit = tl.load(sum_ptr + at, mask=part, other=0.0).to(tl.float32)
            if CENTRES:
                unit = unit - tl.load(mean_ptr + row, mask=row < N, other=0.0)[:, None]
            inverse = tl.load(inverse_ptr + row, mask=row < N, other=0.0)
            unit = tl.where(part, unit * inverse[:, None], 0.0)
            dgain += dout * unit
            dbias += dout
            pull = dout * gain[None, :]
            along = tl.sum(pull * unit, 1) / D
            inner = pull - unit * along[:, None]
            if CENTRES:
                inner = inner - (tl.sum(pull, 1) / D)[:, None]
            total += inner * inverse[:, None]
        if ADDS:
            total = total * scale
            dy = total
            if DROPS:
                dy = tl.where(_kept(tl.load(seed_ptr).to(tl.uint32), at, rate), dy / (1.0 - rate), 0.0)
            if not ALIKE:
                tl.store(dy_ptr + at, dy.to(dy_ptr.dtype.element_ty), mask=part)
            total = total * carry
        tl.store(dx_ptr + at, total.to(dx_ptr.dtype.element_ty), mask=part)
    to = sums_ptr + tl.program_id(0) * 2 * D + wide
    if GAIN or BIAS:
        tl.store(to, tl.sum(dgain, 0), mask=wide < D)
        tl.store(to + D, tl.sum(dbias, 0), mask=wide < D)


class Sum(NamedTuple):
    """scale · (carry · x + dropout(y))."""

    carry: float = 1.0
    scale: float = 1.0
    rate: float = 0.0


class How(NamedTuple):
    """Of a norm. out: in which precision. centres: a layer norm, else RMS."""

    out: torch.dtype
    epsilon: float
    centres: bool


class _Normed(torch.autograd.Function):
    """The sum, and its norm; each empty where nobody wants it."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor | None, gain_D: Tensor | None, bias_D: Tensor | None, add: Sum, how: How | None
    ) -> tuple[Tensor, Tensor]:
        D = x.shape[-1]
        x = x.contiguous()
        N, none = x.numel() // D, x.new_empty(0)
        y = None if y is None else y.contiguous()
        wide = x.dtype if y is None else torch.promote_types(x.dtype, y.dtype)
        total = x if y is None else torch.empty_like(x, dtype=wide)
        out = none if how is None else torch.empty_like(x, dtype=how.out)
        mean_N, inverse_N = torch.empty(2, N if how is not None else 0, device=x.device)
        drops = y is not None and add.rate > 0
        seed = torch.randint(2**31 - 1, (1,), device=x.device, dtype=torch.int32) if drops else none
        shape = _shape(D) | {
            "ADDS": y is not None,
            "NORMS": how is not None,
            "CENTRES": how is not None and how.centres,
            "GAIN": gain_D is not None,
            "BIAS": bias_D is not None,
            "DROPS": drops,
        }
        if N:
            _forward[(triton.cdiv(N, shape["ROWS"]),)](
                x, x if y is None else y, total, out, _or(gain_D, x), _or(bias_D, x), mean_N, inverse_N, seed,
                *add, 1.0 if how is None else how.epsilon, N, D, **shape, num_warps=_warps(D),
            )  # fmt: skip
        ctx.save_for_backward(total if how is not None else none, gain_D, mean_N, inverse_N, seed)
        ctx.add, ctx.shape, ctx.kinds = add, shape, (x.dtype, None if y is None else y.dtype)
        ctx.bias = None if bias_D is None else bias_D.dtype
        ctx.set_materialize_grads(False)
        return (none if y is None else total), out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        dsum, dout = grads
        total, gain_D, mean_N, inverse_N, seed = ctx.saved_tensors
        given = dout if ctx.shape["NORMS"] and dout is not None else dsum
        if given is None:
            return None, None, None, None, None, None
        D = given.shape[-1]
        N, shape = given.numel() // D, dict(ctx.shape)
        shape["HEARS"], shape["NORMS"] = dsum is not None and shape["ADDS"], shape["NORMS"] and dout is not None
        first = given.contiguous()
        dx = torch.empty(given.shape, dtype=ctx.kinds[0], device=given.device)
        alike = not shape["DROPS"] and ctx.add.carry == 1 and ctx.kinds[0] == ctx.kinds[1]
        dy = dx if alike else None if ctx.kinds[1] is None else torch.empty_like(dx, dtype=ctx.kinds[1])
        programs = min(WARPS // _warps(D), triton.cdiv(max(N, 1), shape["ROWS"]))
        sums_P2D = torch.empty(programs, 2, D, dtype=torch.float32, device=given.device)
        _backward[(programs,)](
            first if dsum is None else dsum.contiguous(), first if dout is None else dout.contiguous(),
            total, dx, dx if dy is None else dy, _or(gain_D, first), mean_N, inverse_N, sums_P2D, seed,
            *ctx.add, N, D, programs * shape["ROWS"], **shape, ALIKE=alike, num_warps=_warps(D),
        )  # fmt: skip
        if not shape["NORMS"] or (gain_D is None and ctx.bias is None):
            return dx, dy, None, None, None, None
        dgain_D, dbias_D = column_sums(sums_P2D.flatten(1)).chunk(2)
        wanted = None if gain_D is None else dgain_D.to(gain_D.dtype)
        return dx, dy, wanted, None if ctx.bias is None else dbias_D.to(ctx.bias), None, None


def normed(x: Tensor, gain_D: Tensor | None, bias_D: Tensor | None, how: How) -> Tensor:
    out: Tensor = _Normed.apply(x, None, gain_D, bias_D, Sum(), how)[1]  # type: ignore[no-untyped-call]
    return out


def added(x: Tensor, y: Tensor, add: Sum) -> Tensor:
    total: Tensor = _Normed.apply(x, y, None, None, add, None)[0]  # type: ignore[no-untyped-call]
    return total


def added_normed(x: Tensor, y: Tensor, gain_D: Tensor | None, bias_D: Tensor | None, add: Sum, how: How) -> Tensor:
    out: Tensor = _Normed.apply(x, y, gain_D, bias_D, add, how)[1]  # type: ignore[no-untyped-call]
    return out


def _or(x: Tensor | None, other: Tensor) -> Tensor:
    return other if x is None else x


def _shape(width: int) -> dict[str, Any]:
    wide = _wide(width)
    return {"WIDTH": wide, "ROWS": max(1, WARP // wide)}


def _warps(width: int) -> int:
    return max(1, min(8, _wide(width) // WARP))


def _wide(width: int) -> int:
    return 1 << max(width - 1, 15).bit_length()
