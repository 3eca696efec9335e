"""Recurrent decoders that attend: Luong's form, with or without input feeding, and Bahdanau's."""
# B rows  T steps  D width

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.attention import Heads
from seqloom.layers.bottleneck import Summary
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.cross_attention import MemoryAttention, SharedMemory
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, Padded
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.recurrence import GATES, Cell, FirstState, RecurrentCell, RecurrentState
from seqloom.layers.scores import ScoreName
from seqloom.settings import Frozen


class StepAttention(Heads):
    """Attention as recurrent decoders have it: one head, and the states themselves are its keys and values."""

    heads: int = Field(default=1, ge=1)
    score: ScoreName = "dot"
    project: bool = False
    output: bool = False


class AttentiveRecurrence(Frozen):
    """A stack of recurrent layers and attention over the source, bound together step by step."""

    kind: Literal["attentive-recurrence"] = "attentive-recurrence"
    form: Literal["luong", "bahdanau"] = Field(
        default="luong",
        description="luong: the new state asks, tanh(W[context; state]) is the output; "
        "bahdanau: the last state asks, and its context is an input of the new one",
    )
    feed: bool = Field(default=True, description="luong: the last output is a further input (input feeding)")
    cell: Cell = "lstm"
    depth: int = Field(default=1, ge=1, description="recurrent layers below the attention")
    attention: StepAttention = StepAttention()
    initial: Literal["zeros", "memory"] = "memory"
    summary: Summary = "last"
    dropout: float = Field(default=0.0, ge=0, lt=1, description="between the recurrent layers")

    @property
    def feeds(self) -> bool:
        return self.form == "bahdanau" or self.feed

    def check(self, width: int, causal: bool) -> Faults:
        if not causal:
            yield "kind", "it attends to a memory and goes step by step: it belongs into a decoder"
        if self.form == "bahdanau" and not self.feed:
            yield "feed", "input feeding is Luong's; Bahdanau's form always gets its context as an input"
        if self.changed("summary") and self.initial != "memory":
            yield "summary", "summary is of a source to begin from: set initial = 'memory'"
        if self.initial == "memory" and self.summary == "ends" and width % 2:
            yield "summary", f"'ends' takes half of the width from each end, so the width must be even, not {width}"
        yield from ((f"attention.{name}", why) for name, why in self.attention.faults(width))

    def cost(self, width: int, use: Use) -> Cost:
        gates = GATES[self.cell] * width
        layer = linear(width, gates, bias=True) + linear(width, gates, bias=True)
        cost = linear((2 if self.form == "luong" else 3) * width, width, bias=True)
        cost += self.attention.head_cost(width, use.memory, keys=use.ratio)
        if self.feeds:
            cost += linear(width, gates, bias=False)
        for _ in range(self.depth):
            cost += layer
            if self.initial == "memory":
                cost += Cost(linear(width, width * (2 if self.cell == "lstm" else 1), bias=True).parameters)
        return cost


@dataclass(frozen=True)
class AttentiveState:
    layers: tuple[RecurrentState, ...]
    memory: SharedMemory
    fed_BD: Tensor  # what the next step is fed: Luong's last output; unused otherwise


class AttentiveRecurrenceMixer(Mixer):
    """Luong et al. 2015, sections 3.1 and 3.3; Bahdanau et al. 2015, A.1.2, with tanh(W[state; context; input]) for
    their maxout output layer.
    """

    needs_memory = True

    def __init__(self, settings: AttentiveRecurrence, width: int, causal: bool = True) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.causal, self.width = settings, causal, width
        wide = [width * (2 if settings.feeds and layer == 0 else 1) for layer in range(settings.depth)]
        self.cells = nn.ModuleList(RecurrentCell(settings.cell, inputs, width) for inputs in wide)
        self.attention = MemoryAttention(settings.attention, width)
        self.out = nn.Linear((2 if settings.form == "luong" else 3) * width, width)
        self.dropout = nn.Dropout(settings.dropout)
        firsts = settings.depth if settings.initial == "memory" else 0
        self.firsts = nn.ModuleList(FirstState(settings.cell, width, width, settings.summary) for _ in range(firsts))

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> AttentiveState:
        if memory is None:
            raise ValueError("a recurrent decoder with attention needs a memory to start from")
        layers = tuple(first(memory) for first in self.firsts)
        layers = layers or tuple(cell.zeros(rows, self.anchor) for cell in self._cells)
        return AttentiveState(layers, self.attention.start(rows, memory), self.anchor.new_zeros(rows, self.width))

    @property
    def _cells(self) -> list[RecurrentCell]:
        return [cell for cell in self.cells if isinstance(cell, RecurrentCell)]

    def forward(
        self, x: Tensor, layout: Layout, state: AttentiveState | None = None
    ) -> tuple[Tensor, AttentiveState | None]:
        if state is None:
            raise ValueError("a recurrent decoder with attention needs the state that `start` makes from a memory")
        x_BTD = layout.pad(x)
        y_BTD, state, _ = (
            self._steps(x_BTD, layout, state) if self.settings.feeds else self._at_once(x_BTD, layout, state)
        )
        return layout.unpad(y_BTD), state

    def weights(self, x: Tensor, layout: Layout, state: AttentiveState) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left."""
        x_BTD = layout.pad(x)
        _, _, asked_BTD = (
            self._steps(x_BTD, layout, state) if self.settings.feeds else self._at_once(x_BTD, layout, state)
        )
        return self.attention.weights(asked_BTD, Padded(layout.lengths_B, layout.longest), state.memory)

    def _at_once(self, x_BTD: Tensor, layout: Layout, state: AttentiveState) -> tuple[Tensor, AttentiveState, Tensor]:
        """Luong without feeding: all steps through the recurrence, then all steps attend."""
        after = []
        for layer, cell in enumerate(self._cells):
            x_BTD = self.dropout(x_BTD) if layer else x_BTD
            x_BTD, end = cell(x_BTD, layout, state.layers[layer])
            after.append(end)
        context_BTD, _ = self.attention(x_BTD, Padded(layout.lengths_B, layout.longest), state.memory)
        y_BTD = torch.tanh(self.out(torch.cat((context_BTD, x_BTD), -1)))
        return y_BTD, AttentiveState(tuple(after), state.memory, state.fed_BD), x_BTD

    def _steps(self, x_BTD: Tensor, layout: Layout, state: AttentiveState) -> tuple[Tensor, AttentiveState, Tensor]:
        outputs, asked = [x_BTD[:, :0]], [x_BTD[:, :0]]
        one = Padded.whole(layout.rows, 1, x_BTD.device)
        for t in range(x_BTD.shape[1]):
            y_BD, query_BD, new = self._step(x_BTD[:, t], one, state)
            real_B1 = layout.lengths_B[:, None] > t
            layers = tuple(old.where(real_B1, end) for old, end in zip(state.layers, new.layers, strict=True))
            state = AttentiveState(layers, state.memory, torch.where(real_B1, new.fed_BD, state.fed_BD))
            outputs.append(y_BD[:, None])
            asked.append(query_BD[:, None])
        return torch.cat(outputs, 1), state, torch.cat(asked, 1)

    def _step(self, x_BD: Tensor, one: Layout, state: AttentiveState) -> tuple[Tensor, Tensor, AttentiveState]:
        """One step: its output, the query that it asked with, and the state behind it."""
        luong = self.settings.form == "luong"
        query_BD = state.layers[-1].hidden_BH
        fed_BD = state.fed_BD if luong else self._context(query_BD, one, state)
        h_BD, layers = torch.cat((x_BD, fed_BD), -1), []
        for layer, cell in enumerate(self._cells):
            layers.append(cell.step(self.dropout(h_BD) if layer else h_BD, state.layers[layer]))
            h_BD = layers[-1].hidden_BH
        if luong:
            query_BD = h_BD
            y_BD = torch.tanh(self.out(torch.cat((self._context(h_BD, one, state), h_BD), -1)))
        else:
            y_BD = torch.tanh(self.out(torch.cat((h_BD, fed_BD, x_BD), -1)))
        return y_BD, query_BD, AttentiveState(tuple(layers), state.memory, y_BD if luong else state.fed_BD)

    def _context(self, query_BD: Tensor, one: Layout, state: AttentiveState) -> Tensor:
        return self.attention(query_BD[:, None], one, state.memory)[0][:, 0]
