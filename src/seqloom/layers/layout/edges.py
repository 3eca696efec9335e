"""Who sees whom as a list of edges, for graphs of which a square of all pairs would be too large."""
# E edges  B rows  T steps of the longest row

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Edges:
    """In row row_E, step query_E sees step key_E. Each edge stands there once."""

    row_E: Tensor
    query_E: Tensor
    key_E: Tensor

    @classmethod
    def of(cls, row_E: Tensor, query_E: Tensor, key_E: Tensor) -> Self:
        """Sorted, and without those that are there twice."""
        edges_E3 = torch.stack((row_E, query_E, key_E), 1).long().unique(dim=0)
        return cls(*edges_E3.unbind(1))

    @classmethod
    def of_structure(cls, structure_BTT: Tensor) -> Self:
        return cls(*structure_BTT.nonzero().unbind(1))

    def structure(self, rows: int, longest: int) -> Tensor:
        """The same as a mask: structure_BTT."""
        see_BTT = torch.zeros(rows, longest, longest, dtype=torch.bool, device=self.row_E.device)
        see_BTT[self.row_E, self.query_E, self.key_E] = True
        return see_BTT

    def slots(self, longest: int) -> tuple[Tensor, Tensor]:
        """Of queries and keys, their places in the flattened padded form."""
        begin_E = self.row_E * longest
        return begin_E + self.query_E, begin_E + self.key_E

    def to(self, device: torch.device) -> "Edges":
        return Edges(*(x.to(device, non_blocking=True) for x in (self.row_E, self.query_E, self.key_E)))
