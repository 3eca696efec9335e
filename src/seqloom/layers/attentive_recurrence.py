"""Recurrent decoders that attend: Luong's form, with or without input feeding, and Bahdanau's; also as in GNMT."""
# B rows  T steps  D width

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.bottleneck import Summary
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.cross_attention import MemoryAttention, SharedMemory
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.heads import Heads
from seqloom.layers.layout import Layout, Padded
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.recurrent_cell import CellParts, RecurrentCell, RecurrentState, last_of
from seqloom.layers.recurrent_layers import Chance, FirstState, LayerStates, RecurrentLayers, climb, left_by_encoder
from seqloom.layers.scores import ScoreName


class StepAttention(Heads):
    """Attention as recurrent decoders have it: one head, and the states themselves are its keys and values."""

    heads: int = Field(default=1, ge=1)
    score: ScoreName = "dot"
    project: bool = False
    output: bool = False


class AttentiveRecurrence(RecurrentLayers):
    """A stack of recurrent layers and attention over the source, bound together step by step."""

    kind: Literal["attentive-recurrence"] = "attentive-recurrence"
    form: Literal["luong", "bahdanau"] = Field(
        default="luong",
        description="luong: the new state asks, tanh(W[context; state]) is the output; "
        "bahdanau: the last state asks, and its context is an input of the new one",
    )
    feed: bool = Field(default=True, description="luong: the last output is a further input (input feeding)")
    asks: Literal["top", "bottom"] = Field(
        default="top", description="bahdanau: whose state asks; bottom: the layers above run at once (GNMT)"
    )
    told: Literal["first", "all"] = Field(
        default="first", description="bahdanau: the context is an input of the first layer, or of all (GNMT)"
    )
    output: Literal["joined", "state"] = Field(
        default="joined", description="tanh(W[…]) of all that the form says, or the last layer's state as it is (GNMT)"
    )
    attention: StepAttention = StepAttention()
    initial: Literal["zeros", "memory", "layers"] = Field(
        default="memory", description="the first state: see recurrence"
    )
    summary: Summary = "last"

    @property
    def feeds(self) -> bool:
        return self.form == "bahdanau" or self.feed

    def hidden_width(self, width: int, layer: int = 0) -> int:
        return width if self.hidden is None else self.each(self.hidden)[layer]

    def tells(self, layer: int) -> bool:
        """Whether a layer has a further input: what is fed, or the context."""
        return self.feeds and (layer == 0 or (self.form == "bahdanau" and self.told == "all"))

    def input_width(self, width: int, layer: int) -> int:
        below = self.handed(self.hidden_width(width, layer - 1), layer - 1) if layer else 0
        return width * (2 if self.tells(layer) else 1) + below

    def joined_width(self, width: int) -> int:
        return width * (2 if self.form == "luong" else 3)

    def check(self, width: int, causal: bool) -> Faults:
        faults = list(self.uneven("hidden", self.hidden))
        yield from faults
        if faults:
            return
        if not causal:
            yield "kind", "it attends to a memory and goes step by step: it belongs into a decoder"
        if self.form == "bahdanau" and not self.feed:
            yield "feed", "input feeding is Luong's; Bahdanau's form always gets its context as an input"
        if self.form == "luong":
            for name in filter(self.changed, ("asks", "told")):
                yield name, "in Luong's form the top state asks, and what is fed goes to the first layer"
            if self.output == "state":
                yield "output", "in Luong's form only the output learns of the context; use form = 'bahdanau'"
        widths = [self.hidden_width(width, layer) for layer in range(self.depth)]
        if not self.projection and any(hidden != width for hidden in widths):
            yield "hidden", f"its states ask and are put out, so they have the width {width}; or set projection = true"
        yield from self.layer_faults([width] * self.depth)
        if self.changed("summary") and self.initial != "memory":
            yield "summary", "summary is of a source to begin from: set initial = 'memory'"
        if self.initial == "memory" and self.summary == "ends" and width % 2:
            yield "summary", f"'ends' takes half of the width from each end, so the width must be even, not {width}"
        yield from ((f"attention.{name}", why) for name, why in self.attention.faults(width))

    def cost(self, width: int, use: Use) -> Cost:
        cost = self.attention.head_cost(width, use.memory, keys=use.ratio)
        if self.output == "joined":
            cost += linear(self.joined_width(width), width, bias=True)
        for layer in range(self.depth):
            hidden = self.hidden_width(width, layer)
            cost += self.cell_cost(self.input_width(width, layer), hidden, width)
            if self.initial == "memory":
                cost += self.first_cost(hidden, width)
        return cost


@dataclass(frozen=True)
class AttentiveState:
    layers: LayerStates
    memory: SharedMemory
    fed_BD: Tensor  # what the next step is fed: Luong's last output; unused otherwise


@dataclass(frozen=True)
class Passed:
    """What came of some steps."""

    y_BTD: Tensor
    asked_BTD: Tensor  # the queries
    state: AttentiveState


class AttentiveRecurrenceMixer(Mixer):
    """Luong et al. 2015, sections 3.1 and 3.3; Bahdanau et al. 2015, A.1.2, with tanh(W[state; context; input]) for
    their maxout output layer; Wu et al. 2016, section 3.
    """

    needs_memory, stepwise = True, True

    def __init__(self, settings: AttentiveRecurrence, width: int, causal: bool = True) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.causal, self.width = settings, causal, width
        widths = [(settings.input_width(width, n), settings.hidden_width(width, n)) for n in range(settings.depth)]
        self.cells = nn.ModuleList(settings.build_cell(inputs, hidden, width) for inputs, hidden in widths)
        self.attention = MemoryAttention(settings.attention, width)
        joined = settings.output == "joined"
        self.out = nn.Linear(settings.joined_width(width), width) if joined else None
        parts = [settings.state_widths(hidden, width) for _, hidden in widths]
        firsts = parts if settings.initial == "memory" else []
        self.firsts = nn.ModuleList(FirstState(width, part, settings.summary) for part in firsts)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> AttentiveState:
        if memory is None:
            raise ValueError("a recurrent decoder with attention needs a memory to start from")
        match self.settings.initial:
            case "memory":
                layers = tuple(first(memory) for first in self.firsts)
            case "layers":
                layers = left_by_encoder(memory, self.settings.depth)
            case "zeros":
                layers = tuple(cell.zeros(rows, self.anchor) for cell in self._cells)
        return AttentiveState(layers, self.attention.start(rows, memory), self.anchor.new_zeros(rows, self.width))

    @property
    def _cells(self) -> list[RecurrentCell]:
        return [cell for cell in self.cells if isinstance(cell, RecurrentCell)]

    def forward(
        self, x: Tensor, layout: Layout, state: AttentiveState | None = None
    ) -> tuple[Tensor, AttentiveState | None]:
        if state is None:
            raise ValueError("a recurrent decoder with attention needs the state that `start` makes from a memory")
        passed = self._passed(layout.pad(x), layout, state)
        return layout.unpad(passed.y_BTD), passed.state

    def weights(self, x: Tensor, layout: Layout, state: AttentiveState) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left."""
        return self.parts(x, layout, state).weights_BHTS

    def parts(self, x: Tensor, layout: Layout, state: AttentiveState) -> AttentionParts:
        """All that its attention makes in this very call, of all steps' queries."""
        asked_BTD = self._passed(layout.pad(x), layout, state).asked_BTD
        return self.attention.parts(asked_BTD, Padded(layout.lengths_B, layout.longest), state.memory)

    def cell_parts(self, x_BTD: Tensor, state: AttentiveState, contexts_BTD: Tensor) -> list[CellParts]:
        """All that each layer's cell makes, where the contexts of all steps are known already."""
        if self.settings.form != "luong" or not self.settings.feed:
            return self._cell_parts(x_BTD, state.layers, contexts_BTD)[0]
        # what is fed is known only when the step before it is done
        steps, layers, fed_BD = list[list[CellParts]](), state.layers, state.fed_BD
        for x_BD, context_BD in zip(x_BTD.unbind(1), contexts_BTD.unbind(1), strict=True):
            parts, h_B1D = self._cell_parts(x_BD[:, None], layers, fed_BD[:, None])
            layers, fed_BD = tuple(part.last for part in parts), self._output(h_B1D[:, 0], context_BD, x_BD)
            steps.append(parts)
        return [CellParts.joined(layer) for layer in zip(*steps, strict=True)]

    def _cell_parts(self, x_BTD: Tensor, layers: LayerStates, fed_BTD: Tensor) -> tuple[list[CellParts], Tensor]:
        """And what the last layer hands on."""
        found: list[CellParts] = []

        def run(layer: int, inputs_BTD: Tensor) -> tuple[Tensor, Tensor]:
            cell, share = self._cells[layer], self._share(layer)
            found.append(cell.parts(inputs_BTD, layers[layer]))
            return found[-1].hidden_BTP, F.linear(inputs_BTD, cell.weights[0][:share], cell.weights[2][:share])

        def beside(layer: int) -> Iterable[Tensor]:
            return (fed_BTD,) if self.settings.tells(layer) else ()

        chance = Chance(self.settings, training=False)
        h_BTD, _ = climb(self.settings, chance, x_BTD, run, beside, range(self.settings.depth))
        return found, h_BTD

    def _passed(self, x_BTD: Tensor, layout: Layout, state: AttentiveState) -> Passed:
        chance = Chance(self.settings, self.training)
        if not self.settings.feeds:
            return self._at_once(x_BTD, layout, state, chance)
        if self.settings.form == "bahdanau" and self.settings.asks == "bottom":
            return self._bottom_first(x_BTD, layout, state, chance)
        return self._steps(x_BTD, layout, state, chance)

    def _at_once(self, x_BTD: Tensor, layout: Layout, state: AttentiveState, chance: Chance) -> Passed:
        """Luong without feeding: all steps through the recurrence, then all steps attend."""
        h_BTD, after = self._above(x_BTD, layout, state, chance, range(self.settings.depth))
        context_BTD, _ = self.attention(h_BTD, Padded(layout.lengths_B, layout.longest), state.memory)
        y_BTD = self._output(h_BTD, context_BTD, x_BTD)
        return Passed(y_BTD, h_BTD, AttentiveState(after, state.memory, state.fed_BD))

    def _above(
        self,
        x_BTD: Tensor,
        layout: Layout,
        state: AttentiveState,
        chance: Chance,
        layers: range,
        context_BTD: Tensor | None = None,
        handed: Tensor | None = None,
    ) -> tuple[Tensor, LayerStates]:
        """Some layers at all steps at once, and their states behind these."""
        after: list[RecurrentState] = []

        def run(layer: int, inputs_BTD: Tensor) -> tuple[Tensor, Tensor]:
            cell = self._cells[layer]
            weights, share = chance.weights(layer, 0, cell), self._share(layer)
            y_BTD, end, shared = cell(inputs_BTD, layout, state.layers[layer], weights, share)
            after.append(end)
            return y_BTD, shared

        def beside(layer: int) -> Iterable[Tensor]:
            return () if context_BTD is None or not self.settings.tells(layer) else (context_BTD,)

        y_BTD, _ = climb(self.settings, chance, x_BTD, run, beside, layers, handed=handed)
        return y_BTD, tuple(after)

    def _bottom_first(self, x_BTD: Tensor, layout: Layout, state: AttentiveState, chance: Chance) -> Passed:
        """The bottom layer and its attention step by step; the layers above, which only hear of it, at once."""
        cell, weights, share = self._cells[0], chance.weights(0, 0, self._cells[0]), self._share(0)
        one, states = Padded.whole(layout.rows, 1, x_BTD.device), [state.layers[0]]
        seen: list[tuple[Tensor, ...]] = []
        for x_BD in x_BTD.unbind(1):
            query_BD = states[-1].hidden_BH
            context_BD = self._context(query_BD, one, state)
            told_BD = torch.cat((x_BD, context_BD), -1)
            new, shared_BS = cell.step(told_BD, states[-1], weights, share, chance.joined(0, cell))
            seen.append((new.hidden_BH, context_BD, query_BD, shared_BS))
            states.append(new)
        if not seen:
            return Passed(x_BTD, x_BTD, state)
        bottom = RecurrentState.at_end(states[0], states[1:], layout)
        h_BTD, context_BTD, asked_BTD, shared_BTS = (torch.stack(each, 1) for each in zip(*seen, strict=True))
        handed, above = (shared_BTS if share else None), range(1, self.settings.depth)
        h_BTD, after = self._above(h_BTD, layout, state, chance, above, context_BTD, handed)
        y_BTD = self._output(h_BTD, context_BTD, x_BTD)
        return Passed(y_BTD, asked_BTD, AttentiveState((bottom, *after), state.memory, state.fed_BD))

    def _steps(self, x_BTD: Tensor, layout: Layout, state: AttentiveState, chance: Chance) -> Passed:
        if not x_BTD.shape[1]:
            return Passed(x_BTD, x_BTD, state)
        one, states = Padded.whole(layout.rows, 1, x_BTD.device), [state]
        seen: list[tuple[Tensor, Tensor]] = []
        for x_BD in x_BTD.unbind(1):
            y_BD, query_BD, new = self._step(x_BD, one, states[-1], chance)
            states.append(new)
            seen.append((y_BD, query_BD))
        y_BTD, asked_BTD = (torch.stack(each, 1) for each in zip(*seen, strict=True))
        return Passed(y_BTD, asked_BTD, self._at_end(states, layout))

    def _at_end(self, states: list[AttentiveState], layout: Layout) -> AttentiveState:
        """states: before the first step, and after each."""
        if layout.uniform:
            return states[-1]
        layers = [
            RecurrentState.at_end(each[0], each[1:], layout)
            for each in zip(*(state.layers for state in states), strict=True)
        ]
        fed_BD = last_of([state.fed_BD for state in states], layout.lengths_B)
        return AttentiveState(tuple(layers), states[0].memory, fed_BD)

    def _step(
        self, x_BD: Tensor, one: Layout, state: AttentiveState, chance: Chance
    ) -> tuple[Tensor, Tensor, AttentiveState]:
        """One step: its output, the query that it asked with, and the state behind it."""
        luong = self.settings.form == "luong"
        query_BD = state.layers[-1].hidden_BH
        fed_BD = state.fed_BD if luong else self._context(query_BD, one, state)
        layers: list[RecurrentState] = []

        def run(layer: int, inputs_BD: Tensor) -> tuple[Tensor, Tensor]:
            cell = self._cells[layer]
            weights, joined = chance.weights(layer, 0, cell), chance.joined(layer, cell)
            end, shared = cell.step(inputs_BD, state.layers[layer], weights, self._share(layer), joined)
            layers.append(end)
            return end.hidden_BH, shared

        def beside(layer: int) -> Iterable[Tensor]:
            return (fed_BD,) if self.settings.tells(layer) else ()

        h_BD, _ = climb(self.settings, chance, x_BD, run, beside, range(self.settings.depth))
        query_BD = h_BD if luong else query_BD
        y_BD = self._output(h_BD, self._context(h_BD, one, state) if luong else fed_BD, x_BD)
        return y_BD, query_BD, AttentiveState(tuple(layers), state.memory, y_BD if luong else state.fed_BD)

    def _share(self, layer: int) -> int:
        last = layer == self.settings.depth - 1
        return 0 if last else self.settings.handed(self._cells[layer].hidden, layer)

    def _output(self, h: Tensor, context: Tensor, x: Tensor) -> Tensor:
        if self.out is None:
            return h
        parts = (context, h) if self.settings.form == "luong" else (h, context, x)
        return torch.tanh(self.out(torch.cat(parts, -1)))

    def _context(self, query_BD: Tensor, one: Layout, state: AttentiveState) -> Tensor:
        return self.attention(query_BD[:, None], one, state.memory)[0][:, 0]
