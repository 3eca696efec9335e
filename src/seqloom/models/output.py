"""What a model returns, and the state that a decoder carries from step to step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.layers.experts import ExpertsReport
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.static_state import Rows, Size, move, put, settle, static_like
from seqloom.models.stack import StackState


@dataclass(frozen=True)
class DecoderState:
    """How many steps each row has behind it, and what its layers remember of them."""

    lengths_B: Tensor
    layers: StackState

    def static_like(self, size: Size) -> "DecoderState":
        """Who stands where, its caches know too."""
        return DecoderState(size.places.lengths_R, static_like(self.layers, size))

    def put(self, rows: Rows, state: "DecoderState") -> None:
        put(self.lengths_B, rows, state.lengths_B)
        put(self.layers, rows, state.layers)

    def settle(self, after: "DecoderState", from_R: Tensor | None) -> None:
        """Its lengths are the places' to change: not all rows go on."""
        settle(self.layers, after.layers, from_R)

    def move(self, to: Rows, origin: Rows) -> None:
        move(self.layers, to, origin)


@dataclass(frozen=True)
class Output:
    """States behind the last layer, before the head: the scores of a large vocabulary are made only when asked for."""

    hidden: Tensor
    layout: Layout
    state: DecoderState | None = None
    report: ExpertsReport | None = None

    def at(self, place_M: Tensor | None) -> "Output":
        """At some places of a packed batch only, as one row; None: as it is."""
        if place_M is None:
            return self
        size = len(place_M)
        layout = Packed.within(torch.full((1,), size, device=self.hidden.device), size, size, same=True)
        return Output(self.hidden.index_select(0, place_M), layout, None, self.report)
