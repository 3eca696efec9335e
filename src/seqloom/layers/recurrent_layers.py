"""Recurrent layers one upon the other: their widths, and what goes around, beside and between them."""
# D model width  H hidden width  P width of a layer's output  G gates × hidden width

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.bottleneck import Summary, summarise
from seqloom.layers.cost import Cost, linear
from seqloom.layers.dropout import dropped, kept
from seqloom.layers.faults import Faults
from seqloom.layers.mixer import Memory
from seqloom.layers.recurrent_cell import GATES, Cell, Joined, RecurrentCell, RecurrentState, Weights
from seqloom.settings import Frozen, OneOrMany

T = TypeVar("T")

LayerStates = tuple[RecurrentState, ...]


class RecurrentLayers(Frozen):
    """What all stacks of recurrent layers are made of."""

    cell: Cell = "lstm"
    depth: int = Field(default=1, ge=1, description="recurrent layers, one upon the other")
    hidden: OneOrMany[Annotated[int, Field(ge=1)]] | None = Field(
        default=None, description="width of a state, or of each layer's; unset: the outputs fill the width"
    )
    projection: bool = Field(
        default=False, description="an LSTM's output is mapped to the width before it is carried on (Sak et al. 2014)"
    )
    residual: int | None = Field(
        default=None, ge=2, description="the first layer, counted from 1, that adds its input to its output (GNMT: 3)"
    )
    fast_forward: bool = Field(
        default=False, description="half of what a layer's gates are told goes on to the next layer (Zhou et al. 2016)"
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="between the recurrent layers")
    locked: bool = Field(default=False, description="dropout: the same units at all steps of a sequence")
    weight_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="of the weights from state to state (Merity et al. 2018)"
    )

    def each(self, one_or_many: T | tuple[T, ...]) -> list[T]:
        """A setting's value for each layer."""
        many = one_or_many if isinstance(one_or_many, tuple) else (one_or_many,)
        return [many[layer % len(many)] for layer in range(self.depth)]

    def adds(self, layer: int) -> bool:
        """Whether a layer, from 0, adds its input."""
        return self.residual is not None and layer + 1 >= self.residual

    def handed(self, hidden: int, layer: int) -> int:
        """How many numbers of what its gates are told a layer hands on: half, and the last one all (Zhou et al.)."""
        gates = GATES[self.cell] * hidden
        return 0 if not self.fast_forward else gates if layer == self.depth - 1 else gates // 2

    def hidden_width(self, width: int, layer: int = 0) -> int:
        raise NotImplementedError

    def widths(self, width: int) -> list[list[int]]:
        """Of each layer's state."""
        return [self.state_widths(self.hidden_width(width, layer), width) for layer in range(self.depth)]

    def layer_faults(self, outputs: Sequence[int]) -> Faults:
        """outputs: each layer's width, its directions joined where the next layer reads both."""
        if self.projection and self.cell != "lstm":
            yield "projection", f"an LSTM has a projection, {self.cell} has none"
        if self.fast_forward and self.depth == 1:
            yield "fast_forward", "it goes from layer to layer, and there is one: set depth"
        if self.dropout and self.depth == 1:
            yield "dropout", "it is between recurrent layers, and there is one; the model has a dropout of its own"
        if self.locked and not self.dropout:
            yield "locked", "locked says which units dropout takes: set dropout"
        if self.residual is not None and self.residual > self.depth:
            yield "residual", f"there is no layer {self.residual}: depth = {self.depth}"
        for layer in range(1, self.depth):
            if self.adds(layer) and outputs[layer] != outputs[layer - 1]:
                why = f"layer {layer + 1} cannot add {outputs[layer - 1]} numbers to {outputs[layer]}"
                yield "residual", f"{why}; begin above it, or let widths be equal"

    def uneven(self, name: str, one_or_many: object) -> Faults:
        if isinstance(one_or_many, tuple) and (not one_or_many or self.depth % len(one_or_many)):
            yield name, f"a list of {len(one_or_many)} layers does not fill a depth of {self.depth} evenly"

    def cell_cost(self, inputs: int, hidden: int, width: int) -> Cost:
        gates, out = GATES[self.cell] * hidden, width if self.projection else hidden
        cost = linear(inputs, gates, bias=True) + linear(out, gates, bias=True)
        return cost + linear(hidden, width, bias=False) if self.projection else cost

    def first_cost(self, hidden: int, width: int) -> Cost:
        """Of a first state from a memory: once a row, which is counted as nothing for a token."""
        return Cost(linear(width, sum(self.state_widths(hidden, width)), bias=True).parameters)

    def state_widths(self, hidden: int, width: int) -> list[int]:
        out = width if self.projection else hidden
        return [out, hidden] if self.cell == "lstm" else [out]

    def build_cell(self, inputs: int, hidden: int, width: int) -> RecurrentCell:
        return RecurrentCell(self.cell, inputs, hidden, width if self.projection else None)


class Chance:
    """What one pass through the layers drops: the same at all of its steps where it is locked."""

    def __init__(self, settings: RecurrentLayers, training: bool) -> None:
        self.rate = settings.dropout if training else 0.0
        self.weight_rate = settings.weight_dropout if training else 0.0
        self.locked = settings.locked
        self._kept: dict[tuple[int, int], Tensor] = {}
        self._weights: dict[tuple[int, int], Weights] = {}
        self._joined: dict[int, Joined | None] = {}

    def inputs(self, layer: int, side: int, x: Tensor) -> Tensor:
        """x_BTD, or x_BD of one step."""
        if not self.rate or not self.locked:
            return dropped(x, self.rate)
        key = layer, side
        if key not in self._kept:
            self._kept[key] = kept(x.shape[0], x.shape[-1], self.rate, x)
        return x * (self._kept[key] if x.dim() == 2 else self._kept[key][:, None])

    def weights(self, layer: int, side: int, cell: RecurrentCell) -> Weights:
        if not self.weight_rate:
            return cell.weights
        key = layer, side
        if key not in self._weights:
            self._weights[key] = cell.dropped(self.weight_rate)
        return self._weights[key]

    def joined(self, layer: int, cell: RecurrentCell) -> Joined | None:
        """As `weights`, in one piece, for those who go step by step."""
        if layer not in self._joined:
            self._joined[layer] = cell.joined(self.weights(layer, 0, cell))
        return self._joined[layer]


Run = Callable[[int, Tensor], tuple[Tensor, Tensor]]
"""One layer on its inputs: its outputs, and what it hands on to the next one's gates."""


def climb(
    settings: RecurrentLayers,
    chance: Chance,
    x: Tensor,
    run: Run,
    beside: Callable[[int], Iterable[Tensor]],
    layers: range,
    side: int = 0,
    handed: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """From layer to layer: f(x), or x + f(x) where layers add. Without a last axis or with one of steps.

    beside: further inputs of a layer. handed: by the layer below these.
    """
    for layer in layers:
        below = chance.inputs(layer, side, x) if layer else x
        parts = [below, *([] if handed is None else [handed]), *beside(layer)]
        y, shared = run(layer, torch.cat(parts, -1) if len(parts) > 1 else below)
        handed = shared if settings.fast_forward else None
        x = x + y if settings.adds(layer) else y
    return x, handed


class FirstState(nn.Module):
    """A first state from a memory: tanh(W · summary) (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, width: int, parts: Sequence[int], summary: Summary) -> None:
        super().__init__()
        self.summary, self.parts = summary, list(parts)
        self.out = nn.Linear(width, sum(parts))

    def forward(self, memory: Memory | None) -> RecurrentState:
        if memory is None:
            raise ValueError("this recurrence begins from a memory, and there is none")
        parts = torch.tanh(self.out(summarise(memory, self.summary))).split(self.parts, -1)
        # in memory as later states lie, so that a compiled step is compiled once
        return RecurrentState(*(part.contiguous() for part in parts))


def left_by_encoder(memory: Memory | None, depth: int) -> LayerStates:
    """Where the encoder's layers ended, for as many layers of a decoder."""
    states = () if memory is None or not memory.ends else memory.ends[0]
    if not states or len(states) != depth:
        raise ValueError(f"{depth} layers begin where the encoder's ended, and it left {len(states or ())} states")
    return tuple(states)
