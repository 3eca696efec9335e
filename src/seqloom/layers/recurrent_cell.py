"""One direction of one recurrent layer: Elman, GRU and LSTM, the equation and torch's kernel for it."""
# B rows  T steps  N steps of all rows  D input width  H hidden width  P width of what is carried and put out
# G gates × hidden width

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.layers.cudnn_weights import Kind, in_one_piece
from seqloom.layers.kernels import half
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.mixer import reorder
from seqloom.layers.paths import fast

Cell = Literal["elman", "gru", "lstm"]

GATES: dict[Cell, int] = {"elman": 1, "gru": 3, "lstm": 4}
GATE_NAMES: dict[Cell, tuple[str, ...]] = {"elman": ("n",), "gru": ("r", "z", "n"), "lstm": ("i", "f", "g", "o")}
"""n, g: what is proposed. r, z: reset and update. i, f, o: input, forget and output."""

FULL = 2.0
"""Padded rows of so many times their real steps are still faster than packed ones."""
SHUT = 1e4
"""What a gate is told to be shut, or wide open, whatever else it is told."""

Weights = Sequence[Tensor]
Joined = tuple[Tensor, Tensor]
"""Weights from input and state side by side, and both biases added."""


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

    @classmethod
    def at_end(cls, first: "RecurrentState", after: "Sequence[RecurrentState]", layout: Layout) -> "RecurrentState":
        """Of states after each step those after each row's last one; an empty row's is the first of all."""
        if layout.uniform:
            return after[-1] if after else first
        hidden_BH = last_of([first.hidden_BH, *(state.hidden_BH for state in after)], layout.lengths_B)
        cells = [state.cell_BH for state in (first, *after) if state.cell_BH is not None]
        return cls(hidden_BH, last_of(cells, layout.lengths_B) if cells else None)


@dataclass(frozen=True)
class CellParts:
    """What a cell makes at each step. gates_BTH: by their names, behind their non-linearities."""

    gates_BTH: dict[str, Tensor]
    hidden_BTP: Tensor
    cell_BTH: Tensor | None

    @property
    def last(self) -> RecurrentState:
        """The state behind the last step."""
        return RecurrentState(self.hidden_BTP[:, -1], None if self.cell_BTH is None else self.cell_BTH[:, -1])

    @classmethod
    def joined(cls, parts: "Sequence[CellParts]") -> "CellParts":
        """Of steps that follow one another."""
        gates = {name: torch.cat([part.gates_BTH[name] for part in parts], 1) for name in parts[0].gates_BTH}
        cells = [part.cell_BTH for part in parts if part.cell_BTH is not None]
        return cls(gates, torch.cat([part.hidden_BTP for part in parts], 1), torch.cat(cells, 1) if cells else None)


def last_of(steps: Sequence[Tensor], lengths_B: Tensor) -> Tensor:
    """steps[0] is what was before the first. Rows run on behind their ends: nobody looks at what comes of it."""
    every_BTD = torch.stack(list(steps), 1)
    return every_BTD[torch.arange(len(lengths_B), device=lengths_B.device), lengths_B]


KERNELS: dict[Cell, Callable[..., tuple[Tensor, ...]]] = {
    "elman": torch.rnn_tanh,
    "gru": torch.gru,
    "lstm": torch.lstm,
}
KINDS: dict[Cell, Kind] = {"elman": "RNN_TANH", "gru": "GRU", "lstm": "LSTM"}


class RecurrentCell(nn.Module):
    """Weights begin, and gates stand, as torch has them.

    projection: an LSTM's output is mapped to so many numbers, and these are carried on (Sak et al. 2014, eq. 7).
    """

    def __init__(self, cell: Cell, inputs: int, hidden: int, projection: int | None = None) -> None:
        super().__init__()
        self.cell, self.inputs, self.hidden, self.out = cell, inputs, hidden, projection or hidden
        G = GATES[cell] * hidden
        self.weight_x_GD = nn.Parameter(torch.empty(G, inputs))
        self.weight_h_GH = nn.Parameter(torch.empty(G, self.out))
        self.bias_x_G = nn.Parameter(torch.empty(G))
        self.bias_h_G = nn.Parameter(torch.empty(G))
        self.weight_p_PH = None if projection is None else nn.Parameter(torch.empty(projection, hidden))
        for weight in self.weights:
            nn.init.uniform_(weight, -(hidden**-0.5), hidden**-0.5)

    @property
    def weights(self) -> list[Tensor]:
        """In the order of torch's kernels."""
        weights: list[Tensor] = [self.weight_x_GD, self.weight_h_GH, self.bias_x_G, self.bias_h_G]
        return weights if self.weight_p_PH is None else [*weights, self.weight_p_PH]

    def dropped(self, rate: float) -> Weights:
        """The weights with some of those from state to state at zero (Merity et al. 2018, section 2)."""
        x_GD, h_GH, *others = self.weights
        return [x_GD, F.dropout(h_GH, rate), *others]

    def zeros(self, rows: int, like: Tensor) -> RecurrentState:
        # two tensors: a compiled step would take one for both as a case of its own
        widths = [self.out, self.hidden] if self.cell == "lstm" else [self.out]
        return RecurrentState(*(like.new_zeros(rows, width) for width in widths))

    def joined(self, weights: Weights) -> Joined | None:
        """All that the gates are told, as one product: an LSTM's, which are sums. For many steps in half precision."""
        if self.cell != "lstm" or not half(weights[0]):
            return None
        x_GD, h_GH, bias_x_G, bias_h_G, *_ = weights
        dtype = torch.get_autocast_dtype("cuda")
        return torch.cat((x_GD, h_GH), 1).to(dtype), (bias_x_G + bias_h_G).to(dtype)

    def step(
        self,
        x_BD: Tensor,
        state: RecurrentState,
        weights: Weights | None = None,
        share: int = 0,
        joined: Joined | None = None,
    ) -> tuple[RecurrentState, Tensor]:
        """One step of the equation; and the first `share` numbers of what the input says to the gates.

        joined: the same weights as one product, if they are.
        """
        if joined is not None and not share and state.cell_BH is not None:
            from seqloom.layers.kernels.lstm import lstm_step

            gates_BG = F.linear(torch.cat((x_BD.to(joined[0].dtype), state.hidden_BH.to(joined[0].dtype)), 1), *joined)
            h_BH, c_BH = lstm_step(gates_BG, state.cell_BH)
            map_PH = (weights or self.weights)[4:]
            return RecurrentState(F.linear(h_BH, map_PH[0]) if map_PH else h_BH, c_BH), x_BD[:, :0]
        weights = weights or self.weights
        x_BG = F.linear(x_BD, weights[0], weights[2])
        return self._step(x_BG, state, weights), x_BG[:, :share]

    def _step(self, x_BG: Tensor, state: RecurrentState, weights: Weights) -> RecurrentState:
        """x_BG: what the input says to the gates."""
        h_BG = F.linear(state.hidden_BH, weights[1], weights[3])
        match self.cell:
            case "gru" | "lstm" if x_BG.is_cuda and fast() and not torch.compiler.is_compiling():
                return self._fused(x_BG, h_BG, state, weights)
            case _:
                return self._behind(self._gates(x_BG, h_BG), state, weights)

    def _gates(self, x_BG: Tensor, h_BG: Tensor) -> tuple[Tensor, ...]:
        """In the order of GATE_NAMES, of what the input and the state say to them."""
        match self.cell:
            case "elman":
                return (torch.tanh(x_BG + h_BG),)
            case "gru":
                # as in torch and cuDNN: the reset gate acts behind the product (Cho et al. 2014 have it before)
                (rx, zx, nx), (rh, zh, nh) = x_BG.chunk(3, -1), h_BG.chunk(3, -1)
                r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
                return r, z, torch.tanh(nx + r * nh)
            case "lstm":
                i, f, g, o = (x_BG + h_BG).chunk(4, -1)
                return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)

    def _behind(self, gates: tuple[Tensor, ...], state: RecurrentState, weights: Weights) -> RecurrentState:
        """The next state."""
        match self.cell:
            case "elman":
                return RecurrentState(gates[0])
            case "gru":
                _, z, n = gates
                return RecurrentState((1 - z) * n + z * state.hidden_BH)
            case "lstm":
                i, f, g, o = gates
                assert state.cell_BH is not None
                c_BH = f * state.cell_BH + i * g
                h_BH = o * torch.tanh(c_BH)
                return RecurrentState(h_BH if len(weights) == 4 else F.linear(h_BH, weights[4]), c_BH)

    def parts(self, x_BTD: Tensor, state: RecurrentState) -> CellParts:
        """All that it makes at each step, by the equation and without dropout; rows run on behind their ends."""
        x_BTG, weights = F.linear(x_BTD, self.weights[0], self.weights[2]), self.weights
        gates, after = list[tuple[Tensor, ...]](), [state]
        for x_BG in x_BTG.unbind(1):
            gates.append(self._gates(x_BG, F.linear(after[-1].hidden_BH, weights[1], weights[3])))
            after.append(self._behind(gates[-1], after[-1], weights))
        named = zip(GATE_NAMES[self.cell], zip(*gates, strict=True), strict=True)
        cells = [one.cell_BH for one in after[1:] if one.cell_BH is not None]
        return CellParts(
            {name: torch.stack(steps, 1) for name, steps in named},
            torch.stack([one.hidden_BH for one in after[1:]], 1),
            torch.stack(cells, 1) if cells else None,
        )

    def _fused(self, x_BG: Tensor, h_BG: Tensor, state: RecurrentState, weights: Weights) -> RecurrentState:
        """The gates in one kernel: a GPU takes longer to begin a small one than to run it."""
        wide = torch.promote_types(state.hidden_BH.dtype, torch.float32)
        x_BG, h_BG, carried_BH = x_BG.to(wide), h_BG.to(wide), state.cell_BH
        # autocast takes these kernels for products, and would make what they read and carry on narrow again
        with torch.autocast("cuda", enabled=False):
            if carried_BH is None:
                return RecurrentState(torch.ops.aten._thnn_fused_gru_cell(x_BG, h_BG, state.hidden_BH.to(wide))[0])
            h_BH, c_BH, _ = torch.ops.aten._thnn_fused_lstm_cell(x_BG, h_BG, carried_BH.to(wide))
        return RecurrentState(h_BH if len(weights) == 4 else F.linear(h_BH, weights[4]), c_BH)

    def forward(
        self, x_BTD: Tensor, layout: Layout, state: RecurrentState, weights: Weights | None = None, share: int = 0
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """All steps of rows that are flush left: outputs, the state behind each row's last real step, and at each step
        the first `share` numbers of what the input says to the gates.
        """
        weights = weights or self.weights
        if x_BTD.shape[0] == 0 or x_BTD.shape[1] == 0:
            return x_BTD.new_zeros(*x_BTD.shape[:2], self.out), state, x_BTD.new_zeros(*x_BTD.shape[:2], share)
        # A compiler cannot look into the kernel, and must know how many steps there are: it gets the equation. So does
        # a projection on a CPU, where the kernel is no better, and warns; and rows whose lengths only the device knows.
        slow = (self.weight_p_PH is not None and not x_BTD.is_cuda) or not _known(layout)
        if slow or not fast() or torch.compiler.is_compiling():
            return self._plain(x_BTD, layout, state, weights, share)
        # the kernel keeps to itself what the input says to the gates, so that this much is done twice
        shared_BTS = F.linear(x_BTD, weights[0][:share], weights[2][:share]) if share else x_BTD[..., :0]
        return *self._fast(x_BTD, layout, state, weights), shared_BTS

    def _plain(
        self, x_BTD: Tensor, layout: Layout, state: RecurrentState, weights: Weights, share: int
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        if self.cell == "lstm" and half(x_BTD):
            return self._in_half(x_BTD, layout, state, weights, share)
        x_BTG, after = F.linear(x_BTD, weights[0], weights[2]), [state]
        for x_BG in x_BTG.unbind(1):
            after.append(self._step(x_BG, after[-1], weights))
        y_BTP = torch.stack([one.hidden_BH for one in after[1:]], 1)
        return y_BTP, RecurrentState.at_end(state, after[1:], layout), x_BTG[..., :share]

    def _in_half(
        self, x_BTD: Tensor, layout: Layout, state: RecurrentState, weights: Weights, share: int
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """An LSTM on a GPU that does not know the lengths beforehand: one product and one kernel for each step."""
        from seqloom.layers.kernels.lstm import lstm_steps

        x_BTG = F.linear(x_BTD, weights[0], weights[2] + weights[3])
        assert state.cell_BH is not None
        y_BTP, c_BTH = lstm_steps(x_BTG, state.hidden_BH, state.cell_BH, weights[1], *weights[4:])
        at_B, last_B = torch.arange(len(y_BTP), device=y_BTP.device), (layout.lengths_B - 1).clamp(min=0)
        end = RecurrentState(y_BTP[at_B, last_B], c_BTH[at_B, last_B])
        return y_BTP, state.where(layout.lengths_B[:, None] > 0, end), x_BTG[..., :share]

    def _fast(
        self, x_BTD: Tensor, layout: Layout, state: RecurrentState, weights: Weights
    ) -> tuple[Tensor, RecurrentState]:
        if layout.uniform:
            return self._kernel((x_BTD,), state, weights, True)
        if self.cell == "lstm" and not x_BTD.is_cuda and x_BTD[..., 0].numel() <= FULL * int(layout.lengths_B.sum()):
            return self._padded(x_BTD, layout, state, weights)
        # the kernel knows no empty rows: they run one step, which is then forgotten
        lengths_B = layout.lengths_on_host
        assert lengths_B is not None
        lengths_B = lengths_B.clamp(min=1)
        x = pack_padded_sequence(x_BTD, lengths_B, batch_first=True, enforce_sorted=False)
        assert x.sorted_indices is not None
        assert x.unsorted_indices is not None
        y_NP, end = self._kernel((x.data, x.batch_sizes), reorder(state, x.sorted_indices), weights)
        y = PackedSequence(y_NP, x.batch_sizes, x.sorted_indices, x.unsorted_indices)
        y_BTP, _ = pad_packed_sequence(y, batch_first=True, total_length=x_BTD.shape[1])
        return y_BTP, state.where(layout.lengths_B[:, None] > 0, reorder(end, x.unsorted_indices))

    def _padded(
        self, x_BTD: Tensor, layout: Layout, state: RecurrentState, weights: Weights
    ) -> tuple[Tensor, RecurrentState]:
        """An LSTM on a CPU: torch's kernel for rows of one length is oneDNN's, and several times as fast as the other.

        It knows no lengths. Behind a row's end one more input shuts the input gates and opens the forget gates wide,
        so that what the cell remembers stays as it is.
        """
        past_BT1 = (~layout.real_BT)[..., None].to(x_BTD.dtype)
        shut_G1 = x_BTD.new_tensor([-SHUT, SHUT, 0, 0]).repeat_interleave(self.hidden)[:, None]
        told = [torch.cat((weights[0], shut_G1.to(weights[0].dtype)), 1), *weights[1:]]
        y_BTP, end = self._kernel((torch.cat((x_BTD, past_BT1), -1),), state, told, True)
        last_B = (layout.lengths_B - 1).clamp(min=0)
        hidden_BP = y_BTP[torch.arange(len(y_BTP)), last_B]
        end = RecurrentState(hidden_BP, end.cell_BH)
        # the kernel lays steps out first, where what follows reads rows
        return y_BTP.contiguous(), state.where(layout.lengths_B[:, None] > 0, end)

    def _kernel(
        self, steps: tuple[Tensor, ...], state: RecurrentState, weights: Weights, *batch_first: bool
    ) -> tuple[Tensor, RecurrentState]:
        """steps: x_BTD; or x_ND, step after step, and how many rows have each step."""
        begin = [part[None].contiguous() for part in (state.hidden_BH, state.cell_BH) if part is not None]
        biases, layers, dropout, train, both_ways = True, 1, 0.0, torch.is_grad_enabled(), False
        y, *end = KERNELS[self.cell](
            *steps,
            begin if self.cell == "lstm" else begin[0],
            in_one_piece(weights, KINDS[self.cell]) if self.weight_x_GD.is_cuda else weights,
            *(biases, layers, dropout, train, both_ways, *batch_first),
        )
        return y, RecurrentState(*(part[0] for part in end))


def _known(layout: Layout) -> bool:
    return layout.uniform or not isinstance(layout, Packed) or layout.lengths_on_host is not None
