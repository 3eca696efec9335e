"""A cell's projection against torch's, and what it shares of what its gates are told."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqloom.layers.layout import Padded
from seqloom.layers.paths import only_plain
from seqloom.layers.recurrent_cell import Cell, RecurrentCell, RecurrentState

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


@pytest.mark.parametrize("lengths", [[5, 2, 0, 4], [1, 1, 9]], ids=["padded", "packed"])
def test_an_lstm_of_rows_unlike_long_is_the_equation(lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32, where oneDNN does it: outputs, states behind each row's end, and all gradients."""
    torch.manual_seed(0)
    ours, layout = RecurrentCell("lstm", 3, 8), Padded.of(lengths)
    x_BTD = torch.randn(len(lengths), max(lengths), 3, requires_grad=True)
    x_BTD.data[~layout.real_BT] = 1e3  # what stands there must not matter
    first = RecurrentState(*(torch.randn(len(lengths), 8, requires_grad=True) for _ in range(2)))
    padded, at_once = ours._padded, []
    monkeypatch.setattr(ours, "_padded", lambda *given: at_once.append(1) or padded(*given))

    def made() -> list[Tensor]:
        y_BTP, end, _ = ours(x_BTD, layout, first)
        assert end.cell_BH is not None
        found = [y_BTP[layout.real_BT], end.hidden_BH, end.cell_BH]
        inputs = [x_BTD, first.hidden_BH, first.cell_BH, *ours.weights]
        total = torch.stack([(part * (n + 1)).sin().sum() for n, part in enumerate(found)]).sum()
        return [*found, *torch.autograd.grad(total, inputs)]  # type: ignore[arg-type]

    fast = made()
    assert len(at_once) == (lengths == [5, 2, 0, 4])  # not where most of it would be padding
    with only_plain():
        plain = made()
    for one, other in zip(fast, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    empty = torch.tensor(lengths) == 0
    assert torch.equal(fast[2][empty], first.cell_BH[empty])  # type: ignore[index]
