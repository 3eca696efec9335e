"""What stands before and behind the products in eight bits of a shortlist: one pass each."""
# N rows  D inputs  V outputs

import ctypes
from ctypes import c_float, c_int, c_int64, c_void_p

import torch
from torch import Tensor

from seqloom.layers.native.library import Library


def _same(lib: ctypes.CDLL) -> bool:
    numbers = torch.linspace(0, 90, 3 * 20 + 40 * 20).sin()
    x_ND, weight_VD = numbers[:60].view(3, 20), numbers[60:].view(40, 20).contiguous()
    rounded_ND, _ = rounded(lib, x_ND, 0.1, 1.0, 0.01, 1e-4, 1e-30)
    wanted_ND = (x_ND * (127 / x_ND.abs().amax(1, keepdim=True))).round()
    products_NV = (x_ND @ weight_VD.T * 100).int()
    found_N = picked(lib, products_NV, torch.full((3,), 50, dtype=torch.int32), x_ND, weight_VD, torch.arange(40) + 7)
    near = bool(((rounded_ND - wanted_ND).abs() <= 1).all())
    return near and torch.equal(found_N, (x_ND @ weight_VD.T).argmax(1) + 7)


SHORTLIST = Library(
    "shortlist",
    {
        "rounded": (c_void_p, c_int64, c_int64, *(c_float,) * 5, c_void_p, c_void_p, c_int),
        "picked": (
            c_void_p, c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int,
        ),
    },
    _same,
)  # fmt: skip


def rounded(
    lib: ctypes.CDLL, x_ND: Tensor, apart: float, length: float, scale: float, rounding: float, smallest: float
) -> tuple[Tensor, Tensor]:
    """Rows in eight bits, and how far below a row's largest product another may lie and still be the largest."""
    N, D = x_ND.shape
    out_ND, reach_N = x_ND.new_empty(N, D, dtype=torch.int8), x_ND.new_empty(N, dtype=torch.int32)
    lib.rounded(
        x_ND.data_ptr(), N, D, apart, length, scale, rounding, smallest,
        out_ND.data_ptr(), reach_N.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return out_ND, reach_N


def picked(
    lib: ctypes.CDLL, products_NV: Tensor, reach_N: Tensor, x_ND: Tensor, weight_VD: Tensor, number_V: Tensor
) -> Tensor:
    """The number of the output that is the largest in full, for each row."""
    N, V = products_NV.shape
    out_N = x_ND.new_empty(N, dtype=torch.int64)
    lib.picked(
        products_NV.data_ptr(), N, V, reach_N.data_ptr(), x_ND.data_ptr(), weight_VD.data_ptr(), x_ND.shape[1],
        number_V.data_ptr(), out_N.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return out_N
