"""Products of matrices for training steps: xWᵀ + b, and on the way back dyW, dyᵀx with the bias's gradient."""
# N tokens  D inputs  E outputs

import ctypes
import threading
from collections.abc import Iterator
from ctypes import c_float, c_int, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.native import Library, address, readable, usable_both_ways
from seqloom.layers.native.chance import NEVER, Chance
from seqloom.layers.native.compiler import CompilerError, MissingError, processor

LEAST = 1 << 21  # sums of a product: below it torch's call takes as long
MOST_THREADS = 8  # beyond, MKL divides the work better
# measured beside MKL, with what is added on the way, on Intel's processors; on AMD's, MKL was slower with every shape
WIDE = 1024  # inputs: from more on, MKL is faster with dyW
NARROW = 256  # and from more on with dyᵀx, where no sums are wanted
LANES = 16  # numbers in a register: beside smaller ones it was not measured


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
        raise CompilerError(f"the compiler makes no use of registers of {LANES} numbers")
    x, dy = torch.linspace(-3, 5, 23 * 83).mul(40).sin().view(23, 83), torch.linspace(0, 9, 23 * 70).cos().view(23, 70)
    w, bias = torch.linspace(2, 7, 70 * 83).mul(30).cos().view(70, 83), torch.linspace(0, 1, 70)
    made, sums = torch.empty(70, 83), torch.empty(70)
    pairs = [
        (_multiply(lib, x, w.T, torch.empty(23, 70), bias), x.double() @ w.double().T + bias),
        (_multiply(lib, dy, w, torch.empty(23, 83)), dy.double() @ w.double()),
        (_multiply(lib, dy.T, x, made, sums=sums), dy.double().T @ x.double()),
        (sums, dy.double().sum(0)),
        *_same_activated(lib, x, w, bias, dy),
    ]
    return all(torch.allclose(ours.double(), wanted, atol=1e-4) for ours, wanted in pairs)


def _same_activated(lib: ctypes.CDLL, x: Tensor, w: Tensor, bias: Tensor, d: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """A rectifier and the smooth activation behind xWᵀ + b; their slopes, seen behind a product with the identity."""
    for smooth in (False, True):
        made, slope = _activated(lib, x, w, bias, smooth, NEVER)
        with torch.enable_grad():
            before = (x.double() @ w.double().T + bias).requires_grad_()
            wanted = F.gelu(before, approximate="tanh") if smooth else F.relu(before)
            (back,) = torch.autograd.grad((wanted * d).sum(), before)
        yield made, wanted.detach()
        yield _activated_back(lib, d, torch.eye(d.shape[1]), made, slope, NEVER), back


def _measured() -> None:
    if not torch.backends.mkl.is_available():
        raise MissingError("torch multiplies by other means than MKL, beside which this was not measured")
    if "avx512f" not in processor():
        raise MissingError(f"the processor has no registers of {LANES} numbers")


TYPES = (c_void_p, c_int64, c_int64)
FACTORS = (*TYPES, *TYPES, c_void_p, *(c_int64,) * 3)
PRODUCT = Library(
    "product",
    {
        "product": (*FACTORS, *(c_void_p,) * 2, *(c_int,) * 2, c_void_p, c_int),
        "product_activated": (*FACTORS, *(c_void_p,) * 2, c_uint64, c_uint32, c_float, c_void_p, c_int),
        "product_back": (*FACTORS, *(c_void_p,) * 2, c_float, c_void_p, c_int),
        "product_of_rows": (c_void_p, *TYPES, c_void_p, *(c_int64,) * 3, c_void_p, c_int, c_int),
        "panels": (*TYPES, *(c_int64,) * 2, c_void_p, c_int),
        "about": (c_void_p,),
    },
    _same,
    _measured,
)
_own = threading.local()


def fits(x: Tensor, w_ED: Tensor, *others: Tensor | None) -> bool:
    """Whether xWᵀ, and what goes with it, is for this. In training: it waits for a compiler."""
    return (
        usable_both_ways(x, w_ED)
        and x.dim() > 1
        and x.shape[-1] == w_ED.shape[-1]
        and x.numel() * len(w_ED) >= LEAST
        and all(other is None or readable(other) for other in others)
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
    (K, N), panel = right.shape, _about(lib).panel
    to = right.new_empty(K * -(-N // panel) * panel)
    lib.panels(right.data_ptr(), *right.stride(), K, N, to.data_ptr(), torch.get_num_threads())
    return Panels(to, K, N)


def mapped(x_ND: Tensor, w_ED: Tensor, bias_E: Tensor | None) -> Tensor:
    """xWᵀ + b"""
    if _few(x_ND, w_ED):
        return F.linear(x_ND, w_ED, bias_E)
    return _multiply(_library(), x_ND, w_ED.T, x_ND.new_empty(len(x_ND), len(w_ED)), bias_E)


def mapped_back(dy_NE: Tensor, w_ED: Tensor) -> Tensor:
    """dyW"""
    if (w_ED.shape[1] > WIDE and _intel()) or _few(dy_NE, w_ED):
        return dy_NE @ w_ED
    return _multiply(_library(), dy_NE, w_ED, dy_NE.new_empty(len(dy_NE), w_ED.shape[1]))


def weight_back(dy_NE: Tensor, x_ND: Tensor, sums: bool) -> tuple[Tensor, Tensor | None]:
    """dyᵀx, and the sums of dy's columns."""
    E, D = dy_NE.shape[1], x_ND.shape[1]
    if (_intel() and (E < D or (D > NARROW and not sums))) or len(x_ND) * E * D < LEAST:
        return dy_NE.T @ x_ND, dy_NE.sum(0) if sums else None
    sum_E = dy_NE.new_empty(E) if sums else None
    return _multiply(_library(), dy_NE.T, x_ND, dy_NE.new_empty(E, D), sums=sum_E), sum_E


def activated(
    x_ND: Tensor, w_ED: Tensor, bias_E: Tensor | None, smooth: bool, chance: Chance
) -> tuple[Tensor, Tensor | None]:
    """f(xWᵀ + b) with dropout, as `activation.activate_` makes it; what that returns."""
    return _activated(_library(), x_ND, w_ED, bias_E, smooth, chance)


def activated_back(dy_ND: Tensor, w_DE: Tensor, made_NE: Tensor, slope_NE: Tensor | None, chance: Chance) -> Tensor:
    """dyW times the slope of the activation that made what W mapped."""
    return _activated_back(_library(), dy_ND, w_DE, made_NE, slope_NE, chance)


def multiply(left: Tensor, right: Tensor | Panels, to: Tensor, bias: Tensor | None = None, add: bool = False) -> Tensor:
    """left · right (+ bias) into `to`, or added to what is there."""
    return _multiply(_library(), left, right, to, bias, add=add)


@cache
def _intel() -> bool:
    return "GenuineIntel" in processor()


def of_rows() -> int | None:
    """Where the kernel for other sources in C is; None: there is none on this machine. It waits for a compiler."""
    lib = PRODUCT.wait()
    return None if lib is None else ctypes.cast(lib.product_of_rows, c_void_p).value


def panel() -> int:
    """How many columns lie together."""
    return _about(_library()).panel


def lay_in_panels(weight: int, inputs: int, outputs: int, to: Tensor) -> None:
    """weight: where a matrix lies, the outputs of one input side by side."""
    _library().panels(weight, outputs, 1, inputs, outputs, to.data_ptr(), torch.get_num_threads())


def _few(left: Tensor, right: Tensor) -> bool:
    return len(left) * right.numel() < LEAST


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
    assert sums is None or left.stride(0) == 1
    assert not packed or left.stride(1) == 1
    lib.product(*_factors(left, right, to), address(bias), address(sums), add, packed, *_work(lib))
    return to


def _activated(
    lib: ctypes.CDLL, x_ND: Tensor, w_ED: Tensor, bias_E: Tensor | None, smooth: bool, chance: Chance
) -> tuple[Tensor, Tensor | None]:
    made_NE = x_ND.new_empty(len(x_ND), len(w_ED))
    slope_NE = torch.empty_like(made_NE) if smooth else None
    lib.product_activated(
        *_factors(x_ND, w_ED.T, made_NE), address(bias_E), address(slope_NE),
        chance.seed, chance.lost, chance.growth, *_work(lib),
    )  # fmt: skip
    return made_NE, slope_NE


def _activated_back(
    lib: ctypes.CDLL, dy_ND: Tensor, w_DE: Tensor, made_NE: Tensor, slope_NE: Tensor | None, chance: Chance
) -> Tensor:
    d_NE = torch.empty_like(made_NE)
    lib.product_back(*_factors(dy_ND, w_DE, d_NE), made_NE.data_ptr(), address(slope_NE), chance.growth, *_work(lib))
    return d_NE


def _factors(left: Tensor, right: Tensor | Panels, to: Tensor) -> tuple[int, ...]:
    (M, K), N = left.shape, to.shape[1]
    depth, width = (right.depth, right.width) if isinstance(right, Panels) else right.shape
    assert (depth, width, to.shape[0]) == (K, N, M)
    assert to.is_contiguous()
    b = (right.numbers.data_ptr(), 0, 0) if isinstance(right, Panels) else _sides(right)
    return *_sides(left), *b, to.data_ptr(), M, N, K


def _sides(x: Tensor) -> tuple[int, int, int]:
    """Where it lies, and how far apart its rows and columns are; those of one are next to each other."""
    row, column = x.stride()
    assert row == 1 or column == 1
    return x.data_ptr(), row, column


def _work(lib: ctypes.CDLL) -> tuple[int, int]:
    """Where to work, and with how many threads. It is kept, and so in the cache; each thread of Python has its own."""
    threads = torch.get_num_threads()
    found: Tensor | None = getattr(_own, "space", None)
    if found is None or len(found) < threads:
        found = torch.empty(threads, _about(lib).space, dtype=torch.float32, device="cpu")
        _own.space = found
    return found.data_ptr(), threads
