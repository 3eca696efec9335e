"""The layer or RMS norm of scale · (carry · x + y), in one pass."""

import ctypes
from ctypes import c_float, c_int, c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native import Library, address, readable, usable


def _same(lib: ctypes.CDLL) -> bool:
    x, y, gain, bias = torch.linspace(-3, 5, 4 * 3 * 17).sin().view(4, 3, 17)
    out = _run(lib, x, y, gain[0], bias[0], 2.0, 0.5, 1e-5, True)
    return torch.allclose(out, torch.layer_norm(x + y / 2, (17,), gain[0], bias[0], 1e-5), atol=1e-5)


NORM = Library(
    "norm", {"normed": (*(c_void_p,) * 5, *(c_int64,) * 2, *(c_float,) * 3, *(c_int,) * 2)}, _same
)  # fmt: skip


def normed(
    x: Tensor,
    y: Tensor | None,
    gain_D: Tensor | None,
    bias_D: Tensor | None,
    *,
    carry: float = 1.0,
    scale: float = 1.0,
    epsilon: float,
    centres: bool,
) -> Tensor | None:
    """y None: of x alone. centres: a layer norm, else RMS. None where the plain lines are to do it."""
    fits = (
        usable(x) and all(z is None or readable(z) for z in (y, gain_D, bias_D)) and (y is None or x.shape == y.shape)
    )
    lib = NORM.get() if fits and x.numel() else None
    return None if lib is None else _run(lib, x, y, gain_D, bias_D, carry, scale, epsilon, centres)


def _run(
    lib: ctypes.CDLL,
    x: Tensor,
    y: Tensor | None,
    gain_D: Tensor | None,
    bias_D: Tensor | None,
    carry: float,
    scale: float,
    epsilon: float,
    centres: bool,
) -> Tensor:
    out, D = torch.empty_like(x), x.shape[-1]
    lib.normed(
        x.data_ptr(), address(y), address(gain_D), address(bias_D), out.data_ptr(),
        x.numel() // D, D, carry, scale, epsilon, centres, torch.get_num_threads(),
    )  # fmt: skip
    return out
