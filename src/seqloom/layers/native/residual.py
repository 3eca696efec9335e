"""scale · (carry · x + dropout(y)), and the norm of it, there and back: one pass each."""
# N tokens  D features

import ctypes
from ctypes import c_float, c_int, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.native import Library, address, usable_both_ways
from seqloom.layers.native.chance import NEVER, Chance, chance

FEW = 4096  # numbers: below it torch's own lines are as fast
ROWS = 64  # that are summed together, as in the source


@dataclass(frozen=True)
class Sum:
    """scale · (carry · x + dropout(y))"""

    carry: float = 1.0
    scale: float = 1.0
    chance: Chance = NEVER

    @property
    def numbers(self) -> tuple[float, float, int, int, float]:
        return self.carry, self.scale, self.chance.seed, self.chance.lost, self.chance.growth

    @property
    def plain(self) -> bool:
        """x and y have the same gradient."""
        return self.carry == 1 and not self.chance.lost


@dataclass(frozen=True)
class How:
    """centres: a layer norm, else RMS."""

    epsilon: float
    centres: bool


def _same(lib: ctypes.CDLL) -> bool:
    x, y, d = torch.linspace(-3, 5, 3 * 70 * 37).mul(40).sin().view(3, 70, 37)
    gain, bias = x[0] + 2, y[0]
    kind, how = Sum(2.0, 0.5), How(1e-5, centres=True)
    z, out, mean, inverse = _normed(lib, x, y, gain, bias, kind, how)
    made = _back(lib, d, z, mean, inverse, gain, kind, how, (True, True, True))
    with torch.enable_grad():
        of = [part.detach().double().requires_grad_() for part in (x, y, gain, bias)]
        wanted = torch.layer_norm((2 * of[0] + of[1]) / 2, (37,), of[2], of[3], 1e-5)
        slopes = torch.autograd.grad((wanted * d).sum(), of)
    pairs = zip((out, *made), (wanted, *slopes), strict=True)
    return all(ours is not None and torch.allclose(ours.double(), theirs, atol=1e-4) for ours, theirs in pairs)


SUM = *(c_float,) * 2, c_uint64, c_uint32, c_float, c_int
RESIDUAL = Library(
    "residual",
    {
        "summed": (*(c_void_p,) * 3, *(c_int64,) * 2, *SUM),
        "normed_sum": (*(c_void_p,) * 8, *(c_int64,) * 2, c_float, c_int, *SUM),
        "normed_sum_back": (*(c_void_p,) * 9, *(c_int64,) * 2, c_int, *SUM),
    },
    _same,
)


def fits(x: Tensor, y: Tensor | None = None) -> bool:
    """For training: it waits for a compiler."""
    return (
        torch.is_grad_enabled()
        and x.numel() >= FEW
        and (usable_both_ways(x) if y is None else x.shape == y.shape and usable_both_ways(x, y))
        and RESIDUAL.wait() is not None
    )


def dropped(y: Tensor, rate: float) -> Tensor:
    return _Summed.apply(None, y, Sum(chance=chance(rate)))  # type: ignore[no-untyped-call]


def summed(x: Tensor, y: Tensor, carry: float, scale: float, dropout: float) -> Tensor:
    return _Summed.apply(x, y, Sum(carry, scale, chance(dropout)))  # type: ignore[no-untyped-call]


def normed(
    x: Tensor,
    y: Tensor | None,
    gain_D: Tensor | None,
    bias_D: Tensor | None,
    sum_: tuple[float, float, float],
    how: How,
) -> Tensor:
    """sum_: carry, scale, dropout. y None: of x alone."""
    carry, scale, dropout = sum_
    return _Normed.apply(x, y, gain_D, bias_D, Sum(carry, scale, chance(dropout)), how)  # type: ignore[no-untyped-call]


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor | None, y: Tensor, kind: Sum) -> Tensor:
        ctx.kind = kind
        return _sum(_library(), x, y, kind)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        kind: Sum = ctx.kind
        needs_x, needs_y, _ = ctx.needs_input_grad
        factor = kind.carry * kind.scale
        d_x = (grads[0] if factor == 1 else grads[0] * factor) if needs_x else None
        return d_x, _sum(_library(), None, grads[0].contiguous(), kind) if needs_y else None, None


class _Normed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor | None, gain_D: Tensor | None, bias_D: Tensor | None, kind: Sum, how: How
    ) -> Tensor:
        z, out, mean, inverse = _normed(_library(), x, y, gain_D, bias_D, kind, how)
        ctx.save_for_backward(z, mean, inverse, gain_D)
        ctx.kind, ctx.how = kind, how
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        needs_x, needs_y, needs_gain, needs_bias, *_ = ctx.needs_input_grad
        z, mean, inverse, gain_D = ctx.saved_tensors
        wanted = needs_x, needs_y, needs_gain or needs_bias
        made = _back(_library(), grads[0].contiguous(), z, mean, inverse, gain_D, ctx.kind, ctx.how, wanted)
        d_x, d_y, d_gain, d_bias = made
        return d_x, d_y, d_gain if needs_gain else None, d_bias if needs_bias else None, None, None


def _library() -> ctypes.CDLL:
    found = RESIDUAL.wait()
    assert found is not None  # `fits` asked
    return found


def _sum(lib: ctypes.CDLL, x: Tensor | None, y: Tensor, kind: Sum) -> Tensor:
    to, D = torch.empty_like(y), y.shape[-1]
    lib.summed(
        address(x), y.data_ptr(), to.data_ptr(), y.numel() // D, D, *kind.numbers, torch.get_num_threads()
    )  # fmt: skip
    return to


def _normed(
    lib: ctypes.CDLL, x: Tensor, y: Tensor | None, gain_D: Tensor | None, bias_D: Tensor | None, kind: Sum, how: How
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the norm is of, the norm, and each token's mean and inverse deviation."""
    D = x.shape[-1]
    N = x.numel() // D
    out, z, mean_N, inverse_N = (
        torch.empty_like(x),
        x if y is None else torch.empty_like(x),
        x.new_empty(N),
        x.new_empty(N),
    )
    lib.normed_sum(
        None if y is None else x.data_ptr(), address(y), z.data_ptr(), address(gain_D), address(bias_D),
        out.data_ptr(), mean_N.data_ptr(), inverse_N.data_ptr(), N, D, how.epsilon, how.centres,
        *kind.numbers, torch.get_num_threads(),
    )  # fmt: skip
    return z, out, mean_N, inverse_N


def _back(
    lib: ctypes.CDLL,
    d: Tensor,
    z: Tensor,
    mean_N: Tensor,
    inverse_N: Tensor,
    gain_D: Tensor | None,
    kind: Sum,
    how: How,
    wanted: tuple[bool, bool, bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of x, y, the gain and the bias. wanted: whether those of x, of y, and of the others are."""
    D, N = z.shape[-1], len(mean_N)
    needs_x, needs_y, needs_sums = wanted
    shared = kind.plain and needs_x and needs_y
    d_x = torch.empty_like(z) if needs_x else None
    d_y = torch.empty_like(z) if needs_y and not shared else None
    sums_2D, parts = (z.new_empty(2, D), z.new_empty(-(-N // ROWS), 2, D)) if needs_sums else (None, None)
    lib.normed_sum_back(
        d.data_ptr(), z.data_ptr(), mean_N.data_ptr(), inverse_N.data_ptr(), address(gain_D), address(d_x),
        address(d_y), address(sums_2D), address(parts), N, D, how.centres, *kind.numbers, torch.get_num_threads(),
    )  # fmt: skip
    d_gain, d_bias = (None, None) if sums_2D is None else sums_2D
    return d_x, d_x if shared else d_y, d_gain, d_bias
