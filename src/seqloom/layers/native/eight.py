"""Linear maps whose weights are bytes: how C reads them, and a product for any number of rows."""
# N rows  D inputs  E outputs

import ctypes
from ctypes import Structure, c_int, c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native import address
from seqloom.layers.native.arena import empty
from seqloom.layers.native.library import Library

PANEL, FOUR = 64, 4  # outputs and inputs that lie together: as in the source


class Eight(Structure):
    _fields_ = [
        ("weight", c_void_p), ("scale", c_void_p), ("less", c_void_p), ("bias", c_void_p),
        ("inputs", c_int64), ("out", c_int64),
    ]  # fmt: skip


class Packed:
    """Weights in the order in which C reads them. scale_E: of each output's products, with the rows' largest at 1."""

    def __init__(self, lib: ctypes.CDLL, weight_ED: Tensor, scale_E: Tensor, bias_E: Tensor | None) -> None:
        E, D = weight_ED.shape
        inputs, outputs = -(-D // FOUR) * FOUR, -(-E // PANEL) * PANEL
        self.weight, self.less = empty(inputs * outputs, torch.int8), empty(outputs, torch.int32)
        self.scale, self.bias = scale_E, bias_E  # held, as C reads them
        self.inputs, self.out = inputs, E
        weight_ED = weight_ED.contiguous()
        lib.pack(weight_ED.data_ptr(), D, E, self.weight.data_ptr(), self.less.data_ptr())
        self.form = Eight(
            self.weight.data_ptr(), scale_E.data_ptr(), self.less.data_ptr(), address(bias_E), D, E
        )  # fmt: skip

    def product(self, lib: ctypes.CDLL, x_ND: Tensor) -> Tensor:
        """y = xWᵀ + b, nearly."""
        N = len(x_ND)
        y_NE = x_ND.new_empty(N, self.out)
        bytes_ND, largest_N = x_ND.new_empty(N * self.inputs, dtype=torch.uint8), x_ND.new_empty(N)
        lib.multiply(
            ctypes.addressof(self.form), x_ND.data_ptr(), N, y_NE.data_ptr(), bytes_ND.data_ptr(),
            largest_N.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        return y_NE


def _same(lib: ctypes.CDLL) -> bool:
    return _same_of(lib, 7, 10) and _same_of(lib, 39, 64)  # rows and inputs, of which some are taken otherwise


def _same_of(lib: ctypes.CDLL, N: int, D: int) -> bool:
    numbers = torch.linspace(0, 99, N * D + 70 * D).sin()
    x_ND, weight_ED = numbers[: N * D].view(N, D), (numbers[N * D :] * 127).round().to(torch.int8).view(70, D)
    packed = Packed(lib, weight_ED, torch.full((70,), 0.5), torch.ones(70))
    largest_N1 = x_ND.abs().amax(1, keepdim=True)
    rounded_ND = (x_ND * (127 / largest_N1)).round()
    wanted = (rounded_ND.double() @ weight_ED.double().T) * largest_N1 * 0.5 + 1
    return torch.allclose(packed.product(lib, x_ND).double(), wanted, rtol=1e-5)


EIGHT = Library(
    "eight",
    {
        "pack": (c_void_p, c_int64, c_int64, c_void_p, c_void_p),
        "multiply": (c_void_p, c_void_p, c_int64, *(c_void_p,) * 3, c_int),
    },
    _same,
)
