"""Recurrence as a sequence layer: Elman, GRU and LSTM; forward, backward or both."""
# B rows  T steps  N steps of all rows  D width  H hidden width  G gates × hidden width

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.layers.bottleneck import Summary, summarise
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, flip
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure, reorder
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
        if self.changed("join") and self.direction != "both":
            yield "join", "join is how two directions become one, and there is one"
        if self.changed("summary") and self.initial != "memory":
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


KERNELS: dict[Cell, Callable[..., tuple[Tensor, ...]]] = {
    "elman": torch.rnn_tanh,
    "gru": torch.gru,
    "lstm": torch.lstm,
}


class RecurrentCell(nn.Module):
    """One direction: the equation, and torch's kernel for it. Weights begin, and gates stand, as torch has them."""

    def __init__(self, cell: Cell, inputs: int, hidden: int) -> None:
        super().__init__()
        self.cell, self.inputs, self.hidden = cell, inputs, hidden
        G = GATES[cell] * hidden
        self.weight_x_GD = nn.Parameter(torch.empty(G, inputs))
        self.weight_h_GH = nn.Parameter(torch.empty(G, hidden))
        self.bias_x_G = nn.Parameter(torch.empty(G))
        self.bias_h_G = nn.Parameter(torch.empty(G))
        for weight in self.weights:
            nn.init.uniform_(weight, -(hidden**-0.5), hidden**-0.5)

    @property
    def weights(self) -> list[Tensor]:
        """In the order of torch's kernels."""
        return [self.weight_x_GD, self.weight_h_GH, self.bias_x_G, self.bias_h_G]

    def zeros(self, rows: int, like: Tensor) -> RecurrentState:
        # two tensors: a compiled step would take one for both as a case of its own
        zeros = [like.new_zeros(rows, self.hidden) for _ in range(2 if self.cell == "lstm" else 1)]
        return RecurrentState(*zeros)

    def step(self, x_BD: Tensor, state: RecurrentState) -> RecurrentState:
        """One step of the equation."""
        return self._step(F.linear(x_BD, self.weight_x_GD, self.bias_x_G), state)

    def _step(self, x_BG: Tensor, state: RecurrentState) -> RecurrentState:
        """x_BG: what the input says to the gates."""
        h_BH = state.hidden_BH
        h_BG = F.linear(h_BH, self.weight_h_GH, self.bias_h_G)
        match self.cell:
            case "elman":
                return RecurrentState(torch.tanh(x_BG + h_BG))
            case "gru":
                # as in torch and cuDNN: the reset gate acts behind the product (Cho et al. 2014 have it before)
                (rx, zx, nx), (rh, zh, nh) = x_BG.chunk(3, -1), h_BG.chunk(3, -1)
                r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
                return RecurrentState((1 - z) * torch.tanh(nx + r * nh) + z * h_BH)
            case "lstm":
                i, f, g, o = (x_BG + h_BG).chunk(4, -1)
                assert state.cell_BH is not None
                c_BH = torch.sigmoid(f) * state.cell_BH + torch.sigmoid(i) * torch.tanh(g)
                return RecurrentState(torch.sigmoid(o) * torch.tanh(c_BH), c_BH)

    def forward(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """All steps of rows that are flush left; the state behind each row's last real step."""
        if x_BTD.shape[0] == 0 or x_BTD.shape[1] == 0:
            return x_BTD.new_zeros(*x_BTD.shape[:2], self.hidden), state
        # a compiler cannot look into the kernel, and must know how many steps there are: it gets the equation
        quick = fast() and not torch.compiler.is_compiling()
        return self._fast(x_BTD, layout, state) if quick else self._plain(x_BTD, layout, state)

    def _plain(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        outputs = []
        for t, x_BG in enumerate(F.linear(x_BTD, self.weight_x_GD, self.bias_x_G).unbind(1)):
            new = self._step(x_BG, state)
            state = new if layout.uniform else state.where(layout.lengths_B[:, None] > t, new)
            outputs.append(new.hidden_BH)
        return torch.stack(outputs, 1), state

    def _fast(self, x_BTD: Tensor, layout: Layout, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        if layout.uniform:
            return self._kernel((x_BTD,), state, True)
        # the kernel knows no empty rows: they run one step, which is then forgotten
        lengths_B = layout.lengths_on_host.clamp(min=1)
        x = pack_padded_sequence(x_BTD, lengths_B, batch_first=True, enforce_sorted=False)
        assert x.sorted_indices is not None
        assert x.unsorted_indices is not None
        y_NH, end = self._kernel((x.data, x.batch_sizes), reorder(state, x.sorted_indices))
        y = PackedSequence(y_NH, x.batch_sizes, x.sorted_indices, x.unsorted_indices)
        y_BTH, _ = pad_packed_sequence(y, batch_first=True, total_length=x_BTD.shape[1])
        return y_BTH, state.where(layout.lengths_B[:, None] > 0, reorder(end, x.unsorted_indices))

    def _kernel(
        self, steps: tuple[Tensor, ...], state: RecurrentState, *batch_first: bool
    ) -> tuple[Tensor, RecurrentState]:
        """steps: x_BTD; or x_ND, step after step, and how many rows have each step."""
        begin = [part[None].contiguous() for part in (state.hidden_BH, state.cell_BH) if part is not None]
        biases, layers, dropout, train, both_ways = True, 1, 0.0, torch.is_grad_enabled(), False
        y, *end = KERNELS[self.cell](
            *steps,
            begin if self.cell == "lstm" else begin[0],
            self._in_one_piece() if self.weight_x_GD.is_cuda else self.weights,
            *(biases, layers, dropout, train, both_ways, *batch_first),
        )
        return y, RecurrentState(*(part[0] for part in end))

    def _in_one_piece(self) -> list[Tensor]:
        """cuDNN wants its weights side by side in memory. Parameters that lie so share one storage, which files of
        weights refuse and copies of a module lose; a copy at each call is cheap.
        """
        sizes = [weight.numel() for weight in self.weights]
        pieces = torch.cat([weight.flatten() for weight in self.weights]).split(sizes)
        return [piece.view_as(weight) for piece, weight in zip(pieces, self.weights, strict=True)]


class FirstState(nn.Module):
    """A first state from a memory: tanh(W · summary) (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, cell: Cell, width: int, hidden: int, summary: Summary) -> None:
        super().__init__()
        self.summary, self.parts = summary, 2 if cell == "lstm" else 1
        self.out = nn.Linear(width, hidden * self.parts)

    def forward(self, memory: Memory | None) -> RecurrentState:
        if memory is None:
            raise ValueError("this recurrence begins from a memory, and there is none")
        parts = torch.tanh(self.out(summarise(memory, self.summary))).chunk(self.parts, -1)
        # in memory as later states lie, so that a compiled step is compiled once
        return RecurrentState(*(part.contiguous() for part in parts))


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
