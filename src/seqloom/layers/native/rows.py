"""Rows that move: to other places of the same buffer, without a copy in between; from one behind the other into rows of
their own, without touching what stays empty."""

import ctypes
from ctypes import c_int64, c_void_p

import numpy as np
import torch
from torch import Tensor

from seqloom.layers.native import PLAIN, usable
from seqloom.layers.native.library import Library


def _same(lib: ctypes.CDLL) -> bool:
    x = torch.arange(5.0 * 2 * 3 * 4).view(5, 2, 3, 4)
    given, whole = x.clone()[:, :, :2], x[:, :, :2].clone()
    _run(lib, given, torch.tensor([4, 3]), torch.tensor([0, 2]))
    whole[0], whole[2] = x[4, :, :2], x[3, :, :2]
    begins = torch.tensor([0, 2, 2, 5], dtype=torch.int32)
    found = torch.equal(given, whole)
    for heads in (False, True):
        made = _spread(lib, x[:, 0], begins, 3, heads)
        made = made.transpose(1, 2) if heads else made
        found = found and torch.equal(made[0, :2], x[:2, 0]) and torch.equal(made[2], x[2:, 0])
    return found


ROWS = Library(
    "rows",
    {
        "move": (c_void_p, c_void_p, c_void_p, *(c_int64,) * 7),
        "spread": (c_void_p, c_int64, c_void_p, *(c_int64,) * 5, c_void_p),
    },
    _same,
)


def spread(x_N: Tensor, begins_B1: Tensor, most: int, heads: bool = False) -> Tensor | None:
    """x_BT…, with zeros behind each row; most: T. heads: x_BGTK of x_NGK. None: nothing was done."""
    if type(x_N) not in PLAIN or not x_N.numel() or x_N.dtype is not torch.float32 or not x_N.is_cpu:
        return None
    if not x_N[0].is_contiguous():
        return None
    lib = ROWS.get() if usable() else None
    return None if lib is None else _spread(lib, x_N, begins_B1, most, heads)


def move(x: Tensor, from_M: Tensor, to_M: Tensor) -> bool:
    """x[to] = x[from], of rows of which none is in both; x has four axes. False: nothing was done."""
    if x.dim() != 4 or x.stride(-1) != 1 or not x.is_cpu or not usable():
        return False
    lib = ROWS.get()
    if lib is not None:
        _run(lib, x, from_M, to_M)
    return lib is not None


def _run(lib: ctypes.CDLL, x: Tensor, from_M: Tensor, to_M: Tensor) -> None:
    size = x.element_size()
    row, outer, inner, _ = (size * stride for stride in x.stride())
    lib.move(
        x.data_ptr(), from_M.data_ptr(), to_M.data_ptr(), len(from_M),
        row, x.shape[1], outer, x.shape[2], inner, size * x.shape[3],
    )  # fmt: skip


def _spread(lib: ctypes.CDLL, x_N: Tensor, begins_B1: Tensor, most: int, heads: bool) -> Tensor:
    rows, size = len(begins_B1) - 1, x_N.element_size()
    count, shape = (x_N.shape[1], (most, *x_N.shape[2:])) if heads else (1, (most, *x_N.shape[1:]))
    # numpy's zeros cost nothing where nobody writes
    made = torch.from_numpy(np.zeros((rows, count, *shape) if heads else (rows, *shape), np.float32))
    width = size * x_N[0].numel() // count
    lib.spread(
        x_N.data_ptr(), size * x_N.stride(0), begins_B1.data_ptr(), rows, most * count * width, count, most * width,
        width, made.data_ptr(),
    )  # fmt: skip
    return made
