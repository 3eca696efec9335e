"""Linear maps whose products are made in eight bits: for writing on a CPU, where they are several times as fast.

Weights are rounded once, each output's by its own scale; what they multiply is rounded row by row, by its own largest
number, so that no row depends on its neighbours. Products are added up in whole numbers, in which no order matters:
the kernel in C (native/eight.h) makes the same ones as the plain lines here, two to three times as fast.
"""
# N rows  D inputs  E outputs

from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.layers.native import address, usable
from seqloom.layers.native.eight import EIGHT, Packed

MOST = 127
SMALLEST = torch.finfo(torch.float32).tiny
PACKING = Lock()  # one at a time: C has addresses of what was packed
AT_ONCE = 1 << 19
"""Outputs that are turned from sums into numbers while they are still near: some times as fast as from far."""


class Int8Linear(nn.Module):
    """y = xWᵀ + b, nearly. It only answers: it has no gradients."""

    weight_ED: Tensor
    scale_E: Tensor
    bias_E: Tensor | None

    def __init__(self, weight_ED: Tensor, bias_E: Tensor | None) -> None:
        super().__init__()
        weight_ED = weight_ED.detach().float()
        scale_E = weight_ED.abs().amax(1).clamp(min=SMALLEST) / MOST
        rounded_ED = (weight_ED / scale_E[:, None]).round().to(torch.int8).contiguous()
        self.register_buffer("weight_ED", rounded_ED, persistent=False)
        self.register_buffer("scale_E", scale_E / MOST, persistent=False)
        self.register_buffer(
            "bias_E", None if bias_E is None else bias_E.detach().float().contiguous(), persistent=False
        )
        self._packed: Packed | None = None
        self._packed_of: list[int | None] = []

    def packed(self) -> Packed | None:
        """As C reads it; None where there is no such kernel, or not yet. Whoever hands on its address holds it."""
        lib = EIGHT.get()
        parts = self.weight_ED, self.scale_E, self.bias_E
        numbers = all(part is None or part.dtype is torch.float32 for part in parts[1:])
        if lib is None or not self.weight_ED.is_cpu or not numbers:
            return None
        places = [address(part) for part in parts]
        with PACKING:
            if self._packed is None or self._packed_of != places:
                self._packed, self._packed_of = Packed(lib, *parts), places
            return self._packed

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes its own: what C reads are addresses."""
        return self.__dict__ | {"_packed": None}

    def forward(self, x: Tensor) -> Tensor:
        x_ND = x.flatten(0, -2)
        fits = len(x_ND) and x_ND.shape[1] == self.weight_ED.shape[1]
        if fits and usable(x_ND) and (packed := self.packed()) is not None and (lib := EIGHT.get()) is not None:
            return packed.product(lib, x_ND).view(*x.shape[:-1], packed.out)
        E = self.scale_E.shape[0]
        rows = max(1, AT_ONCE // E)
        if len(x_ND) <= rows:
            return self._product(x_ND).view(*x.shape[:-1], E)
        y_NE = x_ND.new_empty(len(x_ND), E)
        for some_ND, into_NE in zip(x_ND.split(rows), y_NE.split(rows), strict=True):
            into_NE.copy_(self._product(some_ND))
        return y_NE.view(*x.shape[:-1], E)

    def _product(self, x_ND: Tensor) -> Tensor:
        largest_N1 = x_ND.abs().amax(1, keepdim=True).clamp_(min=SMALLEST)
        rounded_ND = (x_ND * (MOST / largest_N1)).round_().to(torch.int8)
        y_NE = torch._int_mm(rounded_ND, self.weight_ED.t()).float().mul_(largest_N1).mul_(self.scale_E)
        return y_NE if self.bias_E is None else y_NE.add_(self.bias_E)
