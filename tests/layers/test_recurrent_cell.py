"""A cell's projection against torch's, and what it shares of what its gates are told."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seqloom.layers.layout import Padded
from seqloom.layers.paths import only_plain
from seqloom.layers.recurrent_cell import Cell, RecurrentCell

CELLS: list[Cell] = ["elman", "gru", "lstm"]


def test_a_projection_is_torchs() -> None:
    torch.manual_seed(0)
    ours = RecurrentCell("lstm", 3, 7, projection=4).double()
    theirs = nn.LSTM(3, 7, proj_size=4, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for own, other in zip(ours.weights, theirs.parameters(), strict=True):
            other.copy_(own)
    x = torch.randn(2, 5, 3).double()
    y, end, _ = ours(x, Padded.whole(2, 5), ours.zeros(2, x))
    # the equation once more, as oneDNN has no projection and warns
    state = ours.zeros(2, x)
    assert state.cell_BH is not None
    assert [state.hidden_BH.shape, state.cell_BH.shape] == [(2, 4), (2, 7)]
    h, c = state.hidden_BH, state.cell_BH
    W, U, b, d, P = theirs.parameters()
    for t in range(5):
        i, f, g, o = (x[:, t] @ W.T + b + h @ U.T + d).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = (torch.sigmoid(o) * torch.tanh(c)) @ P.T
        torch.testing.assert_close(y[:, t], h)
    torch.testing.assert_close(end.cell_BH, c)


@pytest.mark.parametrize("cell", CELLS)
def test_what_the_gates_are_told_is_shared(cell: Cell) -> None:
    torch.manual_seed(0)
    ours, x, layout = RecurrentCell(cell, 3, 4).double(), torch.randn(2, 5, 3).double(), Padded.of([5, 2])
    told = F.linear(x, ours.weight_x_GD, ours.bias_x_G)[..., :2]
    _, _, fast = ours(x, layout, ours.zeros(2, x), share=2)
    with only_plain():
        _, _, plain = ours(x, layout, ours.zeros(2, x), share=2)
    _, stepped = ours.step(x[:, 0], ours.zeros(2, x), share=2)
    for shared, wanted in (fast, told), (plain, told), (stepped, told[:, 0]):
        torch.testing.assert_close(shared, wanted)


def test_dropped_weights_are_those_from_state_to_state() -> None:
    torch.manual_seed(0)
    cell = RecurrentCell("lstm", 8, 8)
    for number, (dropped, weight) in enumerate(zip(cell.dropped(0.5), cell.weights, strict=True)):
        gone = (dropped == 0).float().mean()
        assert (0.3 < gone < 0.7) if number == 1 else torch.equal(dropped, weight)
