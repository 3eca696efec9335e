"""The largest of many products, found exactly: rounded products leave a short list, and only that is computed in full.

In eight bits all products take a fraction of the time, and how wrong they can be is known: for a row x and an output w
with the rounded x̂ and ŵ, |wx − ŵx̂| ≤ |w − ŵ||x| + |ŵ||x − x̂|. Whatever lies further below the largest than twice
that cannot be the largest.
"""
# N rows  D inputs  V outputs  C candidates of all rows

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from seqloom.layers.native import usable
from seqloom.layers.native.eight import EIGHT, Packed
from seqloom.layers.native.shortlist import SHORTLIST, Outputs

MOST = 127
SMALLEST = torch.finfo(torch.float32).tiny
ROUNDING = 1e-4
"""Of the bound itself, and of sums in full precision, as shares of the largest number that there can be."""
TRIED = 32  # rows on which it is measured whether it pays
TIMES = 5


class Shortlist:
    """weight_VD: as it is now; without: outputs that are never the largest."""

    def __init__(self, weight_VD: Tensor, without: Sequence[int] = ()) -> None:
        weight_VD = weight_VD.detach()
        left = np.setdiff1d(np.arange(len(weight_VD)), np.asarray(without, np.int64))
        self.number_V = torch.from_numpy(left)  # of what stands here, among all
        # side by side: single outputs are looked up
        self.weight_VD = (weight_VD if len(left) == len(weight_VD) else weight_VD[self.number_V]).contiguous()
        # one scale for all, so that the largest is found among whole numbers
        self.scale = float(self.weight_VD.abs().amax().clamp(min=SMALLEST)) / MOST
        rounded_VD = (self.weight_VD / self.scale).round_()
        self.apart = float((self.weight_VD - rounded_VD * self.scale).norm(dim=1).amax())
        self.length = float(rounded_VD.norm(dim=1).amax()) * self.scale
        self.rounded_DV = rounded_VD.to(torch.int8).contiguous().t()
        self._outputs: Outputs | None = None

    def outputs(self) -> Outputs | None:
        """As C reads them; None where there is no such kernel, or not yet."""
        lib = EIGHT.get()
        if self._outputs is None and lib is not None:
            packed = Packed(lib, self.rounded_DV.t(), torch.ones(len(self.weight_VD)), None)
            bounds = self.apart, self.length, self.scale, ROUNDING, SMALLEST
            self._outputs = Outputs(packed, self.weight_VD, self.number_V, bounds)
        return self._outputs

    def largest(self, x_ND: Tensor) -> Tensor:
        """Which output is the largest, for each row; of equals the lower one. All numbers should be finite."""
        lib = SHORTLIST.get() if usable(x_ND) else None
        if lib is not None and (outputs := self.outputs()) is not None:
            return outputs.largest(lib, x_ND)
        rows_C, places_C = self._candidates(x_ND)
        begins_N = np.flatnonzero(np.diff(rows_C, prepend=-1))
        if len(begins_N) < len(rows_C):
            rows, places = torch.from_numpy(rows_C), torch.from_numpy(places_C)
            exact_C = (x_ND[rows] * self.weight_VD[places]).sum(-1).numpy()
            best_C = np.repeat(np.maximum.reduceat(exact_C, begins_N), np.diff(begins_N, append=len(rows_C)))
            won = np.flatnonzero(exact_C == best_C)
            places_C = places_C[won[np.flatnonzero(np.diff(rows_C[won], prepend=-1))]]
        return self.number_V[torch.from_numpy(places_C)]

    def _candidates(self, x_ND: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Rows and places of all outputs that may be the largest of their row; the rows in order."""
        largest_N1 = x_ND.abs().amax(1, keepdim=True).clamp_(min=SMALLEST)
        rounded_ND = (x_ND * (MOST / largest_N1)).round_()
        products_NV = torch._int_mm(rounded_ND.to(torch.int8), self.rounded_DV).numpy()
        step_N1 = largest_N1 / MOST
        length_N1, apart_N1 = x_ND.norm(dim=1, keepdim=True), (x_ND - rounded_ND * step_N1).norm(dim=1, keepdim=True)
        bound_N1 = self.apart * length_N1 + self.length * apart_N1 + ROUNDING * self.length * length_N1
        reach_N1 = (2 * bound_N1 / (step_N1 * self.scale)).ceil_().to(torch.int32).numpy()
        enough_N1 = products_NV.max(1, keepdims=True) - reach_N1
        return np.divmod(np.flatnonzero(products_NV >= enough_N1), products_NV.shape[1])


def shortlist_if_faster(weight_VD: Tensor, without: Sequence[int] = ()) -> Shortlist | None:
    """Measured in a few milliseconds: not every processor multiplies small numbers faster."""
    made = Shortlist(weight_VD, without)
    # rows that look like outputs: nothing is said of real ones, but as much has to be computed
    x_ND = made.weight_VD[torch.linspace(0, len(made.weight_VD) - 1, TRIED).long()]
    ways = {
        "plain": lambda: (x_ND @ made.weight_VD.T).log_softmax(-1).numpy().argmax(-1),
        "short": lambda: made.largest(x_ND),
    }
    with torch.no_grad():
        taken = _fastest(ways)
    return made if taken["short"] < taken["plain"] else None


def _fastest(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """By turns: a machine that is busy for a moment is busy for all of them."""
    taken = dict.fromkeys(ways, math.inf)
    for _ in range(TIMES):
        for name, do in ways.items():
            begin = time.perf_counter()
            do()
            taken[name] = min(taken[name], time.perf_counter() - begin)
    return taken
