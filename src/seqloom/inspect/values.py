"""What a box made: a matrix with a name, and what its rows and columns are."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Axis = Literal["source", "target", "written", "vocabulary", "groups", "experts", "inputs"]
"""source: positions of what an encoder reads. target: positions of what a decoder, or the only stack of a model that
goes from left to right, reads. written: the same positions, by what is to be written there. vocabulary: tokens, tags or
classes. groups: compressed positions. experts: of a mixture. inputs: the numbers of one step. None: plain features."""


@dataclass(frozen=True)
class Value:
    """The last two axes are rows and columns; an axis before them is heads."""

    name: str
    title: str
    matrix: Tensor
    rows: Axis | None = None
    columns: Axis | None = None

    @property
    def heads(self) -> bool:
        return self.matrix.dim() == 3


def row_of(value: Tensor) -> Tensor:
    """A vector as a matrix of one row."""
    return value[None] if value.dim() == 1 else value
