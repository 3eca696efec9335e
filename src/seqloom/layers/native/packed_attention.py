"""Attention over rows of packed tokens, there and back: no padding, and no weights are kept."""
# N query tokens  M key tokens  B rows  H heads  K head width

import ctypes
from ctypes import c_float, c_int, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.layout import Layout, Packed
from seqloom.layers.native import Library, usable_both_ways
from seqloom.layers.native.chance import Chance, chance

MULTIPLE = 16  # that a head's width must be of
BLOCK, PANEL = 66, 64  # queries and keys at once, as in the source


@dataclass(frozen=True)
class How:
    """ends: where each row's queries and keys begin, and the last ones end; most: keys of the longest row."""

    q_ends_B1: Tensor
    k_ends_B1: Tensor
    most: int
    scale: float
    causal: bool
    chance: Chance


def _same(lib: ctypes.CDLL) -> bool:
    H, K, ends = 2, 16, torch.tensor([0, 3, 22], dtype=torch.int32)
    x = torch.linspace(-3, 5, 22 * 3 * H * K).mul(7).sin().view(22, 3 * H, K)
    dy = x[:, :H].cos()
    y, log_sum = _forward(lib, x, x[:, H:], how := How(ends, ends, 19, 0.25, True, Chance()))
    dx = torch.empty_like(x)
    _backward(lib, dy, dx, dx[:, H:], x, x[:, H:], log_sum, how)
    with torch.enable_grad():
        wanted_x = x.detach().double().requires_grad_()
        rows = []
        for row in wanted_x.split([3, 19]):
            q, k, v = row.transpose(0, 1).split(H)
            hidden = torch.full((len(row), len(row)), -torch.inf, dtype=torch.float64).triu(1)
            rows.append(((q @ k.transpose(1, 2)) * 0.25 + hidden).softmax(-1) @ v)
        wanted = torch.cat(rows, 1).transpose(0, 1)
        pulled = (wanted * dy).sum()
    (wanted_dx,) = torch.autograd.grad(pulled, wanted_x)
    return torch.allclose(y.double(), wanted, atol=1e-5) and torch.allclose(dx.double(), wanted_dx, atol=1e-5)


COMMON = (*(c_void_p,) * 7, *(c_int64,) * 7, c_float, c_int, c_uint64, c_uint32, c_float, c_int)
ATTENTION = Library(
    "packed_attention", {"attend": (c_void_p, *COMMON), "attend_back": (*(c_void_p,) * 4, *COMMON)}, _same
)


def fits(x: Tensor, width: int) -> bool:
    """x: the heads, of this width, or what they are made of."""
    return width % MULTIPLE == 0 and usable_both_ways(x) and ATTENTION.wait() is not None


def attend_itself(x: Tensor, layout: Layout, causal: bool, scale: float, dropout: float) -> Tensor:
    """x_N(3H)K: each token's queries, keys and values, head by head; y_NHK."""
    ends_B1 = _ends(layout)
    how = How(ends_B1, ends_B1, layout.longest, scale, causal, chance(dropout))
    return _AttendItself.apply(x, how)  # type: ignore[no-untyped-call]


def attend_over(q_NHK: Tensor, kv: Tensor, layout: Packed, memory: Packed, scale: float, dropout: float) -> Tensor:
    """kv_M(2H)K: keys and values of a memory; y_NHK."""
    layout.check(q_NHK)
    memory.check(kv)
    if layout.rows != memory.rows:
        raise ValueError(f"{layout.rows} rows of queries, but the memory has {memory.rows}")
    how = How(_ends(layout), _ends(memory), memory.longest, scale, False, chance(dropout))
    return _AttendOver.apply(q_NHK, kv, how)  # type: ignore[no-untyped-call]


def _ends(layout: Layout) -> Tensor:
    return layout.offsets_B1.contiguous() if isinstance(layout, Packed) else _even(layout.rows, layout.longest)


@lru_cache(maxsize=8)
def _even(rows: int, steps: int) -> Tensor:
    return torch.arange(0, (rows + 1) * steps, max(steps, 1), dtype=torch.int32, device="cpu")


class _AttendItself(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, how: How) -> Tensor:
        y, log_sum = _forward(_library(), x, x[:, x.shape[1] // 3 :], how)
        ctx.save_for_backward(x, log_sum)
        ctx.how = how
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, log_sum = ctx.saved_tensors
        dx, H = torch.empty_like(x), x.shape[1] // 3
        _backward(_library(), grads[0], dx, dx[:, H:], x, x[:, H:], log_sum, ctx.how)
        return dx, None


class _AttendOver(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, kv: Tensor, how: How) -> Tensor:
        y, log_sum = _forward(_library(), q, kv, how)
        ctx.save_for_backward(q, kv, log_sum)
        ctx.how = how
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, kv, log_sum = ctx.saved_tensors
        dq, dkv = torch.empty_like(q), torch.empty_like(kv)
        _backward(_library(), grads[0], dq, dkv, q, kv, log_sum, ctx.how)
        return dq, dkv, None


def _library() -> ctypes.CDLL:
    found = ATTENTION.wait()
    assert found is not None  # `fits` asked
    return found


def _forward(lib: ctypes.CDLL, q: Tensor, kv: Tensor, how: How) -> tuple[Tensor, Tensor]:
    """q_NHK, kv_M(2H)K: the first may hold more heads behind them. y_NHK, log_sum_NH."""
    H, K = kv.shape[1] // 2, kv.shape[2]
    y, log_sum = q.new_empty(len(q), H, K), q.new_empty(len(q), H)
    space = _space(how, K, 1)
    lib.attend(y.data_ptr(), *_common(q, kv, log_sum, how, space))
    return y, log_sum


def _backward(
    lib: ctypes.CDLL, dy: Tensor, dq: Tensor, dkv: Tensor, q: Tensor, kv: Tensor, log_sum: Tensor, how: How
) -> None:
    H, K = kv.shape[1] // 2, kv.shape[2]
    dy, space = dy.contiguous(), _space(how, K, 2)
    gradients = dq.data_ptr(), dkv.data_ptr(), dkv[:, H:].data_ptr()
    lib.attend_back(dy.data_ptr(), *gradients, *_common(q, kv, log_sum, how, space))


def _space(how: How, width: int, times: int) -> Tensor:
    """For each thread, what the kernel works in."""
    keys = -(-how.most // PANEL) * PANEL
    each = (2 * width + BLOCK) * (keys + MULTIPLE) + BLOCK * width
    return torch.empty(torch.get_num_threads(), times * each, dtype=torch.float32, device="cpu")


def _common(q: Tensor, kv: Tensor, log_sum: Tensor, how: How, space: Tensor) -> tuple[object, ...]:
    H, K = kv.shape[1] // 2, kv.shape[2]
    return (
        q.data_ptr(), kv.data_ptr(), kv[:, H:].data_ptr(), log_sum.data_ptr(),
        how.q_ends_B1.data_ptr(), how.k_ends_B1.data_ptr(), space.data_ptr(), space.shape[1],
        len(how.q_ends_B1) - 1, H, K, q.stride(0), kv.stride(0), H * K,
        how.scale, how.causal, how.chance.seed, how.chance.lost, how.chance.growth, len(space),
    )  # fmt: skip
