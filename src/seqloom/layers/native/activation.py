"""f(x + bias) with dropout, in place, and the way back in place too: one pass each, with the bias's gradient."""
# N tokens  F width

import ctypes
from ctypes import c_float, c_int, c_int64, c_uint32, c_uint64, c_void_p

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.native import Library, address, changed, usable_both_ways
from seqloom.layers.native.chance import Chance

ROWS = 64  # that are summed together, as in the source


def _same(lib: ctypes.CDLL) -> bool:
    before, bias, d = torch.linspace(-4, 4, 3 * 70 * 37).mul(9).sin().mul(3).view(3, 70, 37)
    with torch.enable_grad():
        x = (before + bias[0]).double().requires_grad_()
        wanted = [F.relu(x), F.gelu(x, approximate="tanh")]
        slopes = [torch.autograd.grad((y * d).sum(), x)[0] for y in wanted]
    for y, slope, smooth in zip(wanted, slopes, (False, True), strict=True):
        made, back = before.clone(), d.clone()
        left = _activate(lib, made, bias[0], smooth, Chance())
        sums = _back(lib, back, made, left, Chance(), True)
        assert sums is not None
        pairs = (made, y), (back, slope), (sums, slope.sum(0))
        if not all(torch.allclose(ours.double(), theirs, atol=1e-4) for ours, theirs in pairs):
            return False
    return True


ACTIVATION = Library(
    "activation",
    {
        "activated": (*(c_void_p,) * 3, *(c_int64,) * 2, c_uint64, c_uint32, c_float, c_int),
        "activated_back": (*(c_void_p,) * 5, *(c_int64,) * 2, c_float, c_int),
    },
    _same,
)


def fits(x: Tensor) -> bool:
    return usable_both_ways(x) and ACTIVATION.wait() is not None


def activate_(x_NF: Tensor, bias_F: Tensor | None, smooth: bool, chance: Chance) -> Tensor | None:
    """smooth: gelu-tanh, whose slope is returned; otherwise a rectifier, whose slope is seen in what it made."""
    slope_NF = _activate(_library(), x_NF, bias_F, smooth, chance)
    changed(x_NF)
    return slope_NF


def back_(d_NF: Tensor, made_NF: Tensor, slope_NF: Tensor | None, chance: Chance, sums: bool) -> Tensor | None:
    """The gradient in place; the bias's, if `sums`."""
    return _back(_library(), d_NF, made_NF, slope_NF, chance, sums)


def _library() -> ctypes.CDLL:
    found = ACTIVATION.wait()
    assert found is not None  # `fits` asked
    return found


def _activate(lib: ctypes.CDLL, x_NF: Tensor, bias_F: Tensor | None, smooth: bool, chance: Chance) -> Tensor | None:
    assert x_NF.is_contiguous()
    bias_F = None if bias_F is None else bias_F.contiguous()
    slope_NF = torch.empty_like(x_NF) if smooth else None
    lib.activated(
        x_NF.data_ptr(), address(bias_F), address(slope_NF), *x_NF.shape,
        chance.seed, chance.lost, chance.growth, torch.get_num_threads(),
    )  # fmt: skip
    return slope_NF


def _back(
    lib: ctypes.CDLL, d_NF: Tensor, made_NF: Tensor, slope_NF: Tensor | None, chance: Chance, sums: bool
) -> Tensor | None:
    assert d_NF.is_contiguous()
    N, width = d_NF.shape
    sum_F, parts = (d_NF.new_empty(width), d_NF.new_empty(-(-N // ROWS), width)) if sums else (None, None)
    lib.activated_back(
        d_NF.data_ptr(), address(made_NF) if slope_NF is None else None, address(slope_NF), address(sum_F),
        address(parts), N, width, chance.growth, torch.get_num_threads(),
    )  # fmt: skip
    return sum_F
