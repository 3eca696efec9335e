"""The largest of many products, found exactly, in one call."""
# N rows  D inputs  V outputs

import ctypes
from ctypes import Structure, c_double, c_int, c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native.eight import EIGHT, Packed
from seqloom.layers.native.library import Library


class Short(Structure):
    _fields_ = [
        ("rounded", c_void_p), ("weights", c_void_p), ("numbers", c_void_p),
        *((name, c_double) for name in ("apart", "length", "scale", "rounding", "smallest")),
    ]  # fmt: skip


class Outputs:
    """Of which the largest is looked for. bounds: how wrong rounded products can be, in the order of `Short`."""

    def __init__(self, packed: Packed, weight_VD: Tensor, number_V: Tensor, bounds: tuple[float, ...]) -> None:
        self.packed, self.weight_VD, self.number_V = packed, weight_VD, number_V  # held, as C reads them
        self.form = Short(ctypes.addressof(packed.form), weight_VD.data_ptr(), number_V.data_ptr(), *bounds)

    def largest(self, lib: ctypes.CDLL, x_ND: Tensor) -> Tensor:
        """The number of the output that is the largest in full, for each row."""
        N, V = len(x_ND), self.packed.out
        bytes_ND, reach_N = x_ND.new_empty(N * self.packed.inputs, dtype=torch.uint8), x_ND.new_empty(N)
        products_NV, out_N = x_ND.new_empty(N * V), x_ND.new_empty(N, dtype=torch.int64)
        lib.largest(
            ctypes.addressof(self.form), x_ND.data_ptr(), N, bytes_ND.data_ptr(), reach_N.data_ptr(),
            products_NV.data_ptr(), out_N.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        return out_N


def _same(lib: ctypes.CDLL) -> bool:
    other = EIGHT.get()
    if other is None:
        return True  # then nobody can ask
    numbers = torch.linspace(0, 90, 3 * 20 + 70 * 20).sin()
    x_ND, weight_VD = numbers[:60].view(3, 20), numbers[60:].view(70, 20).contiguous()
    rounded_VD = (weight_VD * 127).round()
    packed = Packed(other, rounded_VD.to(torch.int8), torch.ones(70), None)
    apart, length = float((weight_VD - rounded_VD / 127).norm(dim=1).amax()), float(rounded_VD.norm(dim=1).amax()) / 127
    outputs = Outputs(packed, weight_VD, torch.arange(70) + 7, (apart, length, 1 / 127, 1e-4, 1e-30))
    return torch.equal(outputs.largest(lib, x_ND), (x_ND @ weight_VD.T).argmax(1) + 7)


SHORTLIST = Library("shortlist", {"largest": (c_void_p, c_void_p, c_int64, *(c_void_p,) * 4, c_int)}, _same)
