"""Recurrence as a sequence layer: Elman, GRU and LSTM; forward, backward or both; one layer or several."""
# B rows  T steps  D width  H hidden width  P width of a layer's output

from collections.abc import Iterator
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.bottleneck import Summary
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, flip
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure
from seqloom.layers.recurrent_cell import RecurrentCell, RecurrentState
from seqloom.layers.recurrent_layers import Chance, FirstState, LayerStates, RecurrentLayers, climb, left_by_encoder
from seqloom.settings import OneOrMany

Direction = Literal["forward", "backward", "both", "interleaved"]


class Recurrence(RecurrentLayers):
    """A state that is carried from step to step: unlimited reach, one step after the other."""

    kind: Literal["recurrence"] = "recurrence"
    direction: OneOrMany[Direction] = Field(
        default="forward",
        description="of all layers, or of each; interleaved: two columns of layers that turn around at each layer and "
        "meet at the top (Zhou et al. 2016)",
    )
    join: Literal["concat", "sum"] = Field(default="concat", description="how two directions become one output")
    initial: Literal["zeros", "memory", "layers"] = Field(
        default="zeros",
        description="the first state; memory: made from a summary of the source; layers: each layer begins where the "
        "encoder's same layer ended (Sutskever et al. 2014)",
    )
    summary: Summary = Field(default="last", description="with initial = 'memory': which vector of the source")

    def directions(self) -> list[Direction]:
        return self.each(self.direction)

    def hidden_width(self, width: int, layer: int = 0) -> int:
        if self.hidden is not None:
            return self.each(self.hidden)[layer]
        return width // 2 if self._halves(layer) else width

    def _halves(self, layer: int) -> bool:
        return self.join == "concat" and self.directions()[layer] in ("both", "interleaved")

    def out_width(self, width: int, layer: int) -> int:
        """Of one direction."""
        return width if self.projection else self.hidden_width(width, layer)

    def joined_width(self, width: int, layer: int) -> int:
        """What the next layer reads of a layer's output, or the block of the last one's."""
        double = self._halves(layer) and (self.directions()[layer] == "both" or layer == self.depth - 1)
        return self.out_width(width, layer) * (2 if double else 1)

    def handed_width(self, width: int, layer: int) -> int:
        each = self.handed(self.hidden_width(width, layer), layer)
        return each * (2 if self.directions()[layer] == "both" else 1)

    def input_width(self, width: int, layer: int) -> int:
        below = layer - 1
        return width if not layer else self.joined_width(width, below) + self.handed_width(width, below)

    def top_width(self, width: int) -> int:
        columns = 2 if "interleaved" in self.directions() else 1
        return self.joined_width(width, self.depth - 1) + columns * self.handed_width(width, self.depth - 1)

    @property
    def one_way(self) -> bool:
        """Each layer has one state at its end, which a decoder's layer can begin from."""
        return all(direction in ("forward", "backward") for direction in self.directions())

    def check(self, width: int, causal: bool) -> Faults:
        for name, value in ("direction", self.direction), ("hidden", self.hidden):
            faults = list(self.uneven(name, value))
            yield from faults
            if faults:
                return
        directions = set(self.directions())
        if causal and directions != {"forward"}:
            turned = next(direction for direction in self.directions() if direction != "forward")
            yield "direction", f"'{turned}' reads the future, which a causal layer must not; use 'forward'"
        if "interleaved" in directions and (self.depth == 1 or len(directions) > 1):
            yield "direction", "'interleaved' is of all layers, and of two at least"
        if self.hidden is None and any(self._halves(layer) for layer in range(self.depth)) and width % 2:
            yield "direction", f"two directions side by side need an even width, not {width}"
        if self.changed("join") and not directions & {"both", "interleaved"}:
            yield "join", "join is how two directions become one, and there is one"
        of_layer = self.out_width if "interleaved" in directions else self.joined_width
        yield from self.layer_faults([of_layer(width, layer) for layer in range(self.depth)])
        if self.changed("summary") and self.initial != "memory":
            yield "summary", "summary is of a source to begin from: set initial = 'memory'"
        if self.initial != "zeros" and not causal:
            yield "initial", "only a decoder has a memory to begin from"
        if self.initial == "memory" and self.summary == "ends" and width % 2:
            yield "summary", f"'ends' takes half of the width from each end, so the width must be even, not {width}"

    def cost(self, width: int, use: Use) -> Cost:
        cost = Cost()
        for layer, direction in enumerate(self.directions()):
            hidden = self.hidden_width(width, layer)
            one = self.cell_cost(self.input_width(width, layer), hidden, width)
            cost += one + one if direction in ("both", "interleaved") else one
            if self.initial == "memory":
                cost += self.first_cost(hidden, width)
        return cost + (linear(self.top_width(width), width, bias=True) if self.top_width(width) != width else Cost())


class OneLayer(nn.Module):
    """The directions of a layer above the first, and its first state."""

    def __init__(self, settings: Recurrence, width: int, layer: int) -> None:
        super().__init__()
        self.ahead, self.back, self.first = _parts(settings, width, layer)


def _parts(
    settings: Recurrence, width: int, layer: int
) -> tuple[RecurrentCell | None, RecurrentCell | None, FirstState | None]:
    inputs, hidden = settings.input_width(width, layer), settings.hidden_width(width, layer)
    direction = settings.directions()[layer]
    ahead = settings.build_cell(inputs, hidden, width) if direction != "backward" else None
    back = settings.build_cell(inputs, hidden, width) if direction != "forward" else None
    parts = settings.state_widths(hidden, width)
    return ahead, back, FirstState(width, parts, settings.summary) if settings.initial == "memory" else None


class RecurrenceMixer(Mixer):
    stepwise = True

    def __init__(self, settings: Recurrence, width: int, causal: bool) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.causal, self.width = settings, causal, width
        self.ahead, self.back, first = _parts(settings, width, 0)
        top = settings.top_width(width)
        self.out = nn.Linear(top, width) if top != width else None
        self.needs_memory = settings.initial != "zeros"
        self.first = first
        self.upper = nn.ModuleList(OneLayer(settings, width, layer) for layer in range(1, settings.depth))

    @property
    def _layers(self) -> "list[RecurrenceMixer | OneLayer]":
        return [self, *(layer for layer in self.upper if isinstance(layer, OneLayer))]

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> LayerStates:
        if self.settings.initial == "layers":
            return left_by_encoder(memory, self.settings.depth)
        states = []
        for layer in self._layers:
            assert layer.ahead is not None
            states.append(layer.ahead.zeros(rows, self.anchor) if layer.first is None else layer.first(memory))
        return tuple(states)

    def forward(self, x: Tensor, layout: Layout, state: LayerStates | None = None) -> tuple[Tensor, LayerStates | None]:
        """A causal one returns the state behind its steps, if it was given one. Another one that goes one way leaves
        the states at its end, for a decoder to begin from.
        """
        if not self.causal:
            no_state(self, state)
        no_structure(self, layout)
        if state is None and self.needs_memory:
            raise ValueError("this recurrence begins from a memory: pass the state that `start` makes from it")
        x_BTD = layout.pad(x)
        chance = Chance(self.settings, self.training)
        ends: list[RecurrentState] = []
        if "interleaved" in self.settings.directions():
            columns = [self._column(x_BTD, layout, chance, side) for side in (0, 1)]
            y_BTP = self._meet(columns)
        else:
            y_BTP, ends = self._up(x_BTD, layout, chance, state)
        y = layout.unpad(y_BTP)
        leaves = state is not None or not self.causal
        return (y if self.out is None else self.out(y)), (tuple(ends) if leaves and self.settings.one_way else None)

    def _up(
        self, x_BTD: Tensor, layout: Layout, chance: Chance, state: LayerStates | None
    ) -> tuple[Tensor, list[RecurrentState]]:
        ends: list[RecurrentState] = []
        layers = self._layers

        def run(layer: int, inputs_BTD: Tensor) -> tuple[Tensor, Tensor]:
            ys: list[Tensor] = []
            shares: list[Tensor] = []
            for side, cell in enumerate((layers[layer].ahead, layers[layer].back)):
                if cell is not None:
                    begin = cell.zeros(layout.rows, x_BTD) if state is None else state[layer]
                    y, end, share = self._read(layer, side, cell, inputs_BTD, layout, begin, chance, bool(side))
                    ys.append(y)
                    shares.append(share)
                    ends.append(end)
            return self._joined(ys), torch.cat(shares, -1) if len(shares) > 1 else shares[0]

        y_BTP, handed = climb(self.settings, chance, x_BTD, run, lambda _: (), range(self.settings.depth))
        return (y_BTP if handed is None else torch.cat((y_BTP, handed), -1)), ends

    def _column(self, x_BTD: Tensor, layout: Layout, chance: Chance, side: int) -> tuple[Tensor, Tensor | None]:
        """One of two columns: side 0 begins forward, side 1 backward, and both turn around at each layer."""
        layers = self._layers

        def run(layer: int, inputs_BTD: Tensor) -> tuple[Tensor, Tensor]:
            cell = layers[layer].back if side else layers[layer].ahead
            assert cell is not None
            begin, turned = cell.zeros(layout.rows, x_BTD), layer % 2 != side
            y_BTP, _, share = self._read(layer, side, cell, inputs_BTD, layout, begin, chance, turned)
            return y_BTP, share

        return climb(self.settings, chance, x_BTD, run, lambda _: (), range(self.settings.depth), side)

    def _read(
        self,
        layer: int,
        side: int,
        cell: RecurrentCell,
        x_BTD: Tensor,
        layout: Layout,
        begin: RecurrentState,
        chance: Chance,
        turned: bool,
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """turned: from the end to the beginning."""
        weights, share = chance.weights(layer, side, cell), self.settings.handed(cell.hidden, layer)
        if not turned:
            return cell(x_BTD, layout, begin, weights, share)
        y_BTP, end, shared = cell(flip(x_BTD, layout.lengths_B), layout, begin, weights, share)
        return flip(y_BTP, layout.lengths_B), end, flip(shared, layout.lengths_B) if share else shared

    def _joined(self, ys: list[Tensor]) -> Tensor:
        if len(ys) == 1:
            return ys[0]
        return ys[0] + ys[1] if self.settings.join == "sum" else torch.cat(ys, -1)

    def _meet(self, columns: list[tuple[Tensor, Tensor | None]]) -> Tensor:
        y_BTP = self._joined([y for y, _ in columns])
        return torch.cat((y_BTP, *(handed for _, handed in columns if handed is not None)), -1)


def begins_apart(own: RecurrentLayers, other: object, width: int) -> Iterator[str]:
    """Why a decoder's layers cannot begin where an encoder's mixer ends."""
    if not isinstance(other, Recurrence):
        yield "the encoder has no recurrence here to begin from: use 'memory', or 'zeros'"
    elif not other.one_way:
        yield "the encoder goes both ways here, and ends in two states; use 'memory', or one direction"
    elif own.cell != other.cell:
        yield f"the encoder's cell is {other.cell}, this one is {own.cell}"
    elif own.depth != other.depth:
        yield f"the encoder has {other.depth} recurrent layers here, the decoder {own.depth}"
    elif own.widths(width) != other.widths(width):
        yield f"the encoder's states have the widths {other.widths(width)}, the decoder's {own.widths(width)}"
