"""Passes over scores of a whole vocabulary."""
# R rows  V tokens  C places that are asked for

import ctypes
from ctypes import c_int, c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native import changed, usable
from seqloom.layers.native.library import Library

MOST = 64  # places that can be asked for: as in the source


def _same(lib: ctypes.CDLL) -> bool:
    x = torch.linspace(0, 300, 3 * 200).sin().view(3, 200) * 5
    best, place = _likeliest(lib, x, 7)
    wanted = x.sort(dim=-1, descending=True, stable=True)
    y = x.clone()
    _log_softmax(lib, y)
    found = torch.equal(best, wanted.values[:, :7]) and torch.equal(place, wanted.indices[:, :7])
    return found and torch.allclose(y, x.log_softmax(-1), atol=1e-5)


VOCABULARY = Library(
    "vocabulary",
    {
        "log_softmax": (c_void_p, c_int64, c_int64, c_int),
        "likeliest": (c_void_p, c_int64, c_int64, c_int64, c_int, c_void_p, c_void_p, c_int),
    },
    _same,
)


def log_softmax_(x_RV: Tensor) -> Tensor:
    """x.log_softmax(-1), in x itself where that is faster: nobody else may need it."""
    lib = VOCABULARY.get() if usable(x_RV) else None
    if lib is None:
        return x_RV.log_softmax(-1)
    _log_softmax(lib, x_RV)
    changed(x_RV)
    return x_RV


def likeliest(x_RV: Tensor, count: int) -> tuple[Tensor, Tensor] | None:
    """Each row's best scores, best first, and where they stand; of equals the lower place. None: it cannot be so."""
    if not 0 < count <= min(MOST, x_RV.shape[-1]) or not usable(x_RV):
        return None
    lib = VOCABULARY.get()
    return None if lib is None else _likeliest(lib, x_RV, count)


def _log_softmax(lib: ctypes.CDLL, x_RV: Tensor) -> None:
    lib.log_softmax(x_RV.data_ptr(), *x_RV.shape, torch.get_num_threads())


def _likeliest(lib: ctypes.CDLL, x_RV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    R, V = x_RV.shape
    best_RC, place_RC = x_RV.new_empty(R, count), x_RV.new_empty(R, count, dtype=torch.int64)
    threads = torch.get_num_threads()
    lib.likeliest(x_RV.data_ptr(), R, V, V, count, best_RC.data_ptr(), place_RC.data_ptr(), threads)
    return best_RC, place_RC
