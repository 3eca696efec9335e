"""An equation, and the numbers that can be put into it."""
# T rows  H heads

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from seqloom.inspect.drawing import Box
from seqloom.inspect.trace import Trace
from seqloom.inspect.written_numbers import lowered


@dataclass(frozen=True)
class Equation:
    """Lines are parted by line feeds."""

    symbols: str
    numbers: str


@dataclass(frozen=True)
class Known:
    """What a box and the steps beside it made: by their names, at one row and of one head."""

    box: Box
    trace: Trace
    own: Mapping[str, Tensor]
    """What the box itself made."""
    beside: Mapping[str, Tensor]
    """What the other steps within the same box made."""
    row: int
    head: int

    @classmethod
    def of(cls, trace: Trace, box: Box, row: int, head: int) -> "Known":
        own = {value.name: value.matrix.float() for value in trace.values(box.id)}
        above = box.id.rpartition(".")[0]
        steps = [one.id for one in trace.flow.boxes if one.of is not None and one.id.rpartition(".")[0] == above]
        # of a step the others within its layer; of the layer itself the steps within it
        steps = steps if box.of is not None else [one.id for one in trace.flow.boxes if one.of == box.id]
        beside = {value.name: value.matrix.float() for step in steps for value in trace.values(step)}
        known = cls(box, trace, own, beside, row, head)
        known._refuse()
        return known

    def _refuse(self) -> None:
        if not self.own:
            return
        rows = max(value.shape[-2] for value in self.own.values())
        if self.row >= rows:
            raise IndexError(f"row: {self.box.id} has {rows} rows, 0 to {rows - 1}, and no row {self.row}")
        heads = max((len(value) for value in self.own.values() if value.dim() == 3), default=1)
        if self.head >= heads:
            raise IndexError(f"head: {self.box.id} has {heads} heads, 0 to {heads - 1}, and no head {self.head}")

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.box.settings

    @property
    def t(self) -> str:
        """The row as an index."""
        return lowered(self.row + 1)

    def matrix(self, name: str) -> Tensor | None:
        """Of the chosen head. Several query heads may share one head of keys and values."""
        found = self.own.get(name, self.beside.get(name))
        if found is None or found.dim() == 2:
            return found
        heads = max(len(value) for value in (*self.own.values(), *self.beside.values()) if value.dim() == 3)
        return found[self.head * len(found) // heads]

    def at(self, name: str) -> Tensor | None:
        """The chosen row; of what has but one row, that one."""
        found = self.matrix(name)
        return None if found is None else found[min(self.row, len(found) - 1)]

    def row_of(self, name: str) -> Tensor:
        found = self.at(name)
        assert found is not None, (self.box.id, name)
        return found
