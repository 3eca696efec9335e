"""Recurrence as a sequence layer: Elman, GRU and LSTM; forward, backward or both."""
# B rows  T steps  D width  H hidden width

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.layers.bottleneck import Summary, summarise
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, flip
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure
from seqloom.layers.paths import fast
from seqloom.settings import Frozen

Cell = Literal["elman", "gru", "lstm"]

GATES: dict[Cell, int] = {"elman": 1, "gru": 3, "lstm": 4}


class Recurrence(Frozen):
    """A state that is carried from step to step: unlimited reach, one step after the other."""

    kind: Literal["recurrence"] = "recurrence"
    cell: Cell = "lstm"
    direction: Literal["forward", "backward", "both"] = "forward"
    join: Literal["concat", "sum"] = Field(default="concat", description="how two directions become one output")
    hidden: int | None = Field(default=None, ge=1, description="width of a state; unset: the outputs fill the width")
    initial: Literal["zeros", "memory"] = Field(default="zeros", description="the first state, or from the source")
    summary: Summary = Field(default="last", description="with initial = 'memory': which vector of the source")

    def hidden_width(self, width: int) -> int:
        return self.hidden or (width // 2 if self._concat else width)

    @property
    def _concat(self) -> bool:
        return self.direction == "both" and self.join == "concat"

    def joined_width(self, width: int) -> int:
        return self.hidden_width(width) * (2 if self._concat else 1)

    def check(self, width: int, causal: bool) -> Faults:
        if causal and self.direction != "forward":
            yield "direction", f"'{self.direction}' reads the future, which a causal layer must not; use 'forward'"
        if self.hidden is None and self._concat and width % 2:
            yield "direction", f"two directions side by side need an even width, not {width}"
        if "join" in self.model_fields_set and self.direction != "both":
            yield "join", "join is how two directions become one, and there is one"
        if "summary" in self.model_fields_set and self.initial != "memory":
            yield "summary", "summary is of a source to begin from: set initial = 'memory'"
        if self.initial == "memory" and not causal:
            yield "initial", "only a decoder has a memory to begin from"
        if self.initial == "memory" and self.summary == "ends" and width % 2:
            yield "summary", f"'ends' takes half of the width from each end, so the width must be even, not {width}"

    def cost(self, width: int, use: Use) -> Cost:
        H, gates = self.hidden_width(width), GATES[self.cell]
        one = linear(width, gates * H, bias=True) + linear(H, gates * H, bias=True)
        cost = one + one if self.direction == "both" else one
        if self.joined_width(width) != width:
            cost += linear(self.joined_width(width), width, bias=True)
        if self.initial == "memory":
            cost += Cost(linear(width, H * (2 if self.cell == "lstm" else 1), bias=True).parameters)
        return cost


@dataclass(frozen=True)
class RecurrentState:
    hidden_BH: Tensor
    cell_BH: Tensor | None = None  # an LSTM's

    def where(self, new_B1: Tensor, new: "RecurrentState") -> "RecurrentState":
        """The new state in the rows that say so."""
        if self.cell_BH is None or new.cell_BH is None:
            return RecurrentState(torch.where(new_B1, new.hidden_BH, self.hidden_BH))
        return RecurrentState(
            torch.where(new_B1, new.hidden_BH, self.hidden_BH), torch.where(new_B1, new.cell_BH, self.cell_BH)
        )


class RecurrentCell(nn.Module):
    """One direction: torch's own recurrent layer, and its equation."""

    def __init__(self, cell: Cell, inputs: int, hidden: int) -> None:
        super().__init__()
        self.cell, self.hidden = cell, hidden
        kinds: dict[Cell, type[nn.RNN | nn.GRU | nn.LSTM]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
        self.rnn = kinds[cell](inputs, hidden, batch_first=True)

    def zeros(self, rows: int, like: Tensor) -> RecurrentState:
        zeros_BH = like.new_zeros(rows, self.hidden)
        return RecurrentState(zeros_BH, zeros_BH if self.cell == "lstm" else None)

    def step(self, x_BD: Tensor, state: RecurrentState) -> RecurrentState:
        """One step of the equation."""
        h_BH = state.hidden_BH
        weight_x, weight_h, bias_x, bias_h = self.rnn.all_weights[0]
        from_x, from_h = F.linear(x_BD, weight_x, bias_x), F.linear(h_BH, weight_h, bias_h)
        match self.cell:
            case "elman":
                return RecurrentState(torch.tanh(from_x + from_h))
            case "gru":
                # as in torch and cuDNN: the reset gate acts behind the product (Cho et al. 2014 have it before)
                (rx, zx, nx), (rh, zh, nh) = from_x.chunk(3, -1), from_h.chunk(3, -1)
                r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
                return RecurrentState((1 - z) * torch.tanh(nx + r * nh) + z * h_BH)
            case "lstm":
                i, f, g, o = (from_x + from_h).chunk(4, -1)
                assert state.cell_BH is not None
                c_BH = torch.sigmoid(f) * state.cell_BH + torch.sigmoid(i) * torch.tanh(g)
                return RecurrentState(torch.sigmoid(o) * torch.tanh(c_BH), c_BH)

    def forward(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """All steps of rows that are flush left; the state behind each row's last real step."""
        if x_BTD.shape[0] == 0 or x_BTD.shape[1] == 0:
            return x_BTD.new_zeros(*x_BTD.shape[:2], self.hidden), state
        return self._fast(x_BTD, layout, state) if fast() else self._plain(x_BTD, layout, state)

    def _plain(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs = []
        for t in range(x_BTD.shape[1]):
            new = self.step(x_BTD[:, t], state)
            state = state.where(layout.lengths_B[:, None] > t, new)
            outputs.append(new.hidden_BH)
        return torch.stack(outputs, 1), state

    def _fast(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        h_1BH = state.hidden_BH[None].contiguous()
        begin = h_1BH if state.cell_BH is None else (h_1BH, state.cell_BH[None].contiguous())
        if layout.uniform:
            y_BTH, end = self.rnn(x_BTD, begin)
            return y_BTH, self._state(end)
        # the kernel knows no empty rows: they run one step, which is then forgotten
        lengths_B = layout.lengths_on_host.clamp(min=1)
        packed, end = self.rnn(pack_padded_sequence(x_BTD, lengths_B, batch_first=True, enforce_sorted=False), begin)
        y_BTH, _ = pad_packed_sequence(packed, batch_first=True, total_length=x_BTD.shape[1])
        return y_BTH, state.where(layout.lengths_B[:, None] > 0, self._state(end))

    @staticmethod
    def _state(end: Tensor | tuple[Tensor, Tensor]) -> RecurrentState:
        return RecurrentState(end[0]) if isinstance(end, Tensor) else RecurrentState(end[0][0], end[1][0])


class FirstState(nn.Module):
    """A first state from a memory: tanh(W · summary) (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, cell: Cell, width: int, hidden: int, summary: Summary) -> None:
        super().__init__()
        self.summary, self.parts = summary, 2 if cell == "lstm" else 1
        self.out = nn.Linear(width, hidden * self.parts)

    def forward(self, memory: Memory | None) -> RecurrentState:
        if memory is None:
            raise ValueError("this recurrence begins from a memory, and there is none")
        return RecurrentState(*torch.tanh(self.out(summarise(memory, self.summary))).chunk(self.parts, -1))


class RecurrenceMixer(Mixer):
    def __init__(self, settings: Recurrence, width: int, causal: bool) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.causal = settings, causal
        H, joined = settings.hidden_width(width), settings.joined_width(width)
        self.ahead = RecurrentCell(settings.cell, width, H) if settings.direction != "backward" else None
        self.back = RecurrentCell(settings.cell, width, H) if settings.direction != "forward" else None
        self.out = nn.Linear(joined, width) if joined != width else None
        self.needs_memory = settings.initial == "memory"
        self.first = FirstState(settings.cell, width, H, settings.summary) if self.needs_memory else None

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> RecurrentState:
        assert self.ahead is not None
        return self.ahead.zeros(rows, self.anchor) if self.first is None else self.first(memory)

    def forward(
        self, x: Tensor, layout: Layout, state: RecurrentState | None = None
    ) -> tuple[Tensor, RecurrentState | None]:
        if not self.causal:
            no_state(self, state)
        no_structure(self, layout)
        if state is None and self.needs_memory:
            raise ValueError("this recurrence begins from a memory: pass the state that `start` makes from it")
        x_BTD = layout.pad(x)
        directions, after = [], None
        if self.ahead is not None:
            begin = self.ahead.zeros(layout.rows, x) if state is None else state
            y_BTH, after = self.ahead(x_BTD, layout, begin)
            directions.append(y_BTH)
        if self.back is not None:
            flipped_BTD = flip(x_BTD, layout.lengths_B)
            y_BTH, _ = self.back(flipped_BTD, layout, self.back.zeros(layout.rows, x))
            directions.append(flip(y_BTH, layout.lengths_B))
        y_BTD = sum(directions[1:], directions[0]) if self.settings.join == "sum" else torch.cat(directions, -1)
        y = layout.unpad(y_BTD)
        return (y if self.out is None else self.out(y)), (None if state is None else after)
