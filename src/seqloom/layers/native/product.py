"""Products of matrices for training steps: xWᵀ + b, and on the way back dyW, dyᵀx with the bias's gradient."""
# N tokens  D inputs  E outputs

import ctypes
import threading
from ctypes import c_int, c_int64, c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.layers.native import Library, address, readable, usable_both_ways
from seqloom.layers.native.compiler import MissingError

LEAST = 1 << 21  # sums of a product: below it torch's call takes as long
MOST_THREADS = 8  # beyond, MKL divides the work better
LANES = 16  # numbers in a register: with smaller ones MKL is as fast


@dataclass(frozen=True)
class About:
    """What the source was compiled for: numbers in a register, those that a thread works in, the width of a panel."""

    lanes: int
    space: int
    panel: int


def _about(lib: ctypes.CDLL) -> About:
    numbers = torch.empty(3, dtype=torch.int64)
    lib.about(numbers.data_ptr())
    lanes, space, panel = numbers.tolist()
    return About(lanes, space, panel)


def _same(lib: ctypes.CDLL) -> bool:
    if _about(lib).lanes != LANES:
        raise MissingError("the processor has no registers of 16 numbers, and MKL is as fast with others")
    x, dy = torch.linspace(-3, 5, 23 * 83).mul(40).sin().view(23, 83), torch.linspace(0, 9, 23 * 70).cos().view(23, 70)
    w, bias = torch.linspace(2, 7, 70 * 83).mul(30).cos().view(70, 83), torch.linspace(0, 1, 70)
    made, sums = torch.empty(70, 83), torch.empty(70)
    pairs = [
        (_multiply(lib, x, w.T, torch.empty(23, 70), bias), x.double() @ w.double().T + bias),
        (_multiply(lib, dy, w, torch.empty(23, 83)), dy.double() @ w.double()),
        (_multiply(lib, dy.T, x, made, sums=sums), dy.double().T @ x.double()),
        (sums, dy.double().sum(0)),
    ]
    return all(torch.allclose(ours.double(), wanted, atol=1e-4) for ours, wanted in pairs)


def _mkl() -> None:
    if not torch.backends.mkl.is_available():
        raise MissingError("torch multiplies by other means than MKL, beside which this was not measured")


TYPES = (c_void_p, c_int64, c_int64)
PRODUCT = Library(
    "product",
    {
        "product": (*TYPES, *TYPES, c_void_p, *(c_int64,) * 3, *(c_void_p,) * 2, *(c_int,) * 2, c_void_p, c_int),
        "panels": (*TYPES, *(c_int64,) * 2, c_void_p, c_int),
        "about": (c_void_p,),
    },
    _same,
    _mkl,
)
_own = threading.local()


def fits(x: Tensor, *weights: Tensor | None) -> bool:
    """For training: it waits for a compiler. x: of which rows are multiplied with the weights."""
    return (
        usable_both_ways(x)
        and all(weight is None or readable(weight) for weight in weights)
        and torch.get_num_threads() <= MOST_THREADS
        and PRODUCT.wait() is not None
    )


@dataclass(frozen=True)
class Panels:
    """A right-hand side as the kernel wants it, for several products."""

    numbers: Tensor
    depth: int
    width: int


def panels(right: Tensor) -> Panels:
    lib = _library()
    (K, N), panel = right.shape, _panel(lib)
    to = right.new_empty(K * -(-N // panel) * panel)
    lib.panels(right.data_ptr(), *right.stride(), K, N, to.data_ptr(), torch.get_num_threads())
    return Panels(to, K, N)


def mapped(x_ND: Tensor, w_ED: Tensor, bias_E: Tensor | None) -> Tensor:
    """xWᵀ + b"""
    if _few(x_ND, w_ED):
        return torch.nn.functional.linear(x_ND, w_ED, bias_E)
    return _multiply(_library(), x_ND, w_ED.T, x_ND.new_empty(len(x_ND), len(w_ED)), bias_E)


def mapped_back(dy_NE: Tensor, w_ED: Tensor) -> Tensor:
    """dyW"""
    if _few(dy_NE, w_ED):
        return dy_NE @ w_ED
    return _multiply(_library(), dy_NE, w_ED, dy_NE.new_empty(len(dy_NE), w_ED.shape[1]))


def weight_back(dy_NE: Tensor, x_ND: Tensor, sums: bool) -> tuple[Tensor, Tensor | None]:
    """dyᵀx, and the sums of dy's columns."""
    if _few(dy_NE, x_ND.T):
        return dy_NE.T @ x_ND, dy_NE.sum(0) if sums else None
    sum_E = dy_NE.new_empty(dy_NE.shape[1]) if sums else None
    made = dy_NE.new_empty(dy_NE.shape[1], x_ND.shape[1])
    return _multiply(_library(), dy_NE.T, x_ND, made, sums=sum_E), sum_E


def multiply(left: Tensor, right: Tensor | Panels, to: Tensor, bias: Tensor | None = None, add: bool = False) -> Tensor:
    """left · right (+ bias) into `to`, or added to what is there."""
    return _multiply(_library(), left, right, to, bias, add=add)


def _few(left: Tensor, right: Tensor) -> bool:
    return left.shape[0] * left.shape[1] * right.numel() // max(1, left.shape[1]) < LEAST


def _library() -> ctypes.CDLL:
    found = PRODUCT.wait()
    assert found is not None  # `fits` asked
    return found


def _multiply(
    lib: ctypes.CDLL,
    left: Tensor,
    right: Tensor | Panels,
    to: Tensor,
    bias: Tensor | None = None,
    sums: Tensor | None = None,
    add: bool = False,
) -> Tensor:
    packed = isinstance(right, Panels)
    (M, K), N, threads = left.shape, to.shape[1], torch.get_num_threads()
    depth, width = (right.depth, right.width) if isinstance(right, Panels) else right.shape
    assert (K, N, M) == (depth, width, to.shape[0])
    assert to.is_contiguous()
    b = (right.numbers.data_ptr(), 0, 0) if isinstance(right, Panels) else _sides(right)
    lib.product(
        *_sides(left), *b, to.data_ptr(), M, N, K, address(bias), address(sums),
        add, packed, _space(lib, threads).data_ptr(), threads,
    )  # fmt: skip
    return to


def _sides(x: Tensor) -> tuple[int, int, int]:
    """Where it lies. Of its steps one is 1, also where it has one row or column, and torch does not care."""
    row, column = x.stride()
    assert row == 1 or column == 1
    return x.data_ptr(), row, column


def _panel(lib: ctypes.CDLL) -> int:
    return _about(lib).panel


def _space(lib: ctypes.CDLL, threads: int) -> Tensor:
    """To work in: kept, so that it stays in the cache; each thread of Python has its own."""
    found: Tensor | None = getattr(_own, "space", None)
    if found is None or len(found) < threads:
        found = torch.empty(threads, _about(lib).space, dtype=torch.float32, device="cpu")
        _own.space = found
    return found
