"""Rows that move to other places of the same buffer, without a copy in between."""

import ctypes
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native import usable
from seqloom.layers.native.library import Library


def _same(lib: ctypes.CDLL) -> bool:
    x = torch.arange(5.0 * 2 * 3 * 4).view(5, 2, 3, 4)
    given, whole = x.clone()[:, :, :2], x[:, :, :2].clone()
    _run(lib, given, torch.tensor([4, 3]), torch.tensor([0, 2]))
    whole[0], whole[2] = x[4, :, :2], x[3, :, :2]
    return torch.equal(given, whole)


ROWS = Library("rows", {"move": (c_void_p, c_void_p, c_void_p, *(c_int64,) * 7)}, _same)


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
