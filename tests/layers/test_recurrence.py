"""Recurrence: first weights, rows without steps, first states from a memory, both directions, torch's own cells."""

import pytest
import torch
from torch import nn

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.mixers import build_mixer
from seqloom.layers.paths import only_plain
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.layers.recurrent_cell import Cell, RecurrentCell, RecurrentState

WIDTH = 4
CELLS: list[Cell] = ["elman", "gru", "lstm"]


def built(settings: Recurrence, causal: bool = True) -> RecurrenceMixer:
    torch.manual_seed(2)
    mixer = build_mixer(settings, WIDTH, causal)
    assert isinstance(mixer, RecurrenceMixer)
    return mixer.double()


def torchs(cell: RecurrentCell) -> nn.RNNBase:
    """torch's layer with the same weights."""
    kinds = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
    theirs: nn.RNNBase = kinds[cell.cell](cell.inputs, cell.hidden, dtype=torch.float64)
    theirs.load_state_dict(dict(zip(theirs.state_dict(), cell.weights, strict=True)))
    return theirs


def some_state(cell: Cell, rows: int) -> RecurrentState:
    g = torch.Generator().manual_seed(5)
    hidden, memory = torch.rand(2, rows, WIDTH, generator=g, dtype=torch.float64)
    return RecurrentState(hidden, memory if cell == "lstm" else None)


@pytest.mark.parametrize(("cell", "theirs"), [("elman", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_fresh_weights_are_drawn_as_torch_draws_them(cell: Cell, theirs: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    ours = RecurrentCell(cell, 3, 5)
    torch.manual_seed(0)
    assert all(torch.equal(a, b) for a, b in zip(ours.weights, theirs(3, 5).parameters(), strict=True))


@pytest.mark.parametrize("path", ["fast", "plain"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("lengths", [[3, 0, 1], [0, 0, 0]], ids=str)
def test_rows_without_steps_keep_their_state(cell: Cell, path: str, lengths: list[int]) -> None:
    mixer, before = built(Recurrence(cell=cell)), some_state(cell, 3)
    layout = Padded.of(lengths, 3)
    x = torch.randn(3, 3, WIDTH).double()
    if path == "fast":
        _, ends = mixer(x, layout, (before,))
    else:
        with only_plain():
            _, ends = mixer(x, layout, (before,))
    assert ends is not None
    (after,) = ends
    for b, length in enumerate(lengths):
        assert torch.equal(after.hidden_BH[b], before.hidden_BH[b]) == (length == 0)
        if cell == "lstm":
            assert before.cell_BH is not None
            assert after.cell_BH is not None
            assert torch.equal(after.cell_BH[b], before.cell_BH[b]) == (length == 0)


@pytest.mark.parametrize("cell", CELLS)
def test_the_state_behind_each_rows_own_end(cell: Cell) -> None:
    mixer, before = built(Recurrence(cell=cell)), some_state(cell, 2)
    x = torch.randn(2, 4, WIDTH).double()
    y, ends = mixer(x, Padded.of([4, 2]), (before,))
    assert ends is not None
    (after,) = ends
    torch.testing.assert_close(after.hidden_BH, torch.stack((y[0, 3], y[1, 1])))


def test_no_steps_at_all() -> None:
    mixer, before = built(Recurrence()), some_state("lstm", 2)
    y, after = mixer(torch.zeros(2, 0, WIDTH).double(), Padded.of([0, 0]), (before,))
    assert y.shape == (2, 0, WIDTH)
    assert after is not None
    assert after[0] is before


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("initial", ["zeros", "memory"])
def test_the_first_state(cell: Cell, initial: str) -> None:
    mixer = built(
        Recurrence.model_validate(
            {"cell": cell, "initial": initial} | ({"summary": "mean"} if initial == "memory" else {})
        )
    )
    memory = Memory(torch.randn(5, WIDTH).double(), Packed.of([3, 2]))
    (state,) = mixer.start(2, memory)
    means = memory.layout.mean_B(memory.states)
    if initial == "zeros":
        assert mixer.first is None
        assert not mixer.needs_memory
        expected = torch.zeros(2, 2 * WIDTH).double()
    else:
        assert mixer.first is not None
        expected = torch.tanh(means @ mixer.first.out.weight.T + mixer.first.out.bias)
    torch.testing.assert_close(state.hidden_BH, expected[:, :WIDTH])
    if cell == "lstm":
        torch.testing.assert_close(state.cell_BH, expected[:, WIDTH:])
    else:
        assert state.cell_BH is None


def test_a_first_state_from_a_memory_needs_one() -> None:
    mixer = built(Recurrence(initial="memory"))
    with pytest.raises(ValueError, match="begins from a memory, and there is none"):
        mixer.start(2)
    with pytest.raises(ValueError, match="begins from a memory: pass the state that `start` makes from it"):
        mixer(torch.zeros(2, WIDTH).double(), Packed.of([2]))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("join", ["concat", "sum"])
def test_both_directions(cell: Cell, join: str) -> None:
    """Each row read forward and, from its own end, backward."""
    mixer = built(Recurrence.model_validate({"cell": cell, "direction": "both", "join": join}), causal=False)
    assert mixer.ahead is not None
    assert mixer.back is not None
    assert mixer.out is None
    assert mixer.ahead.hidden == (WIDTH // 2 if join == "concat" else WIDTH)
    x = torch.randn(6, WIDTH).double()
    y, _ = mixer(x, Packed.of([4, 2]))
    expected = []
    for row in x.split([4, 2]):
        both = torchs(mixer.ahead)(row)[0], torchs(mixer.back)(row.flip(0))[0].flip(0)
        expected.append(torch.cat(both, -1) if join == "concat" else both[0] + both[1])
    torch.testing.assert_close(y, torch.cat(expected))


@pytest.mark.parametrize(("hidden", "maps"), [(None, False), (4, False), (3, True), (7, True)])
def test_a_hidden_width_of_its_own(hidden: int | None, maps: bool) -> None:
    mixer = built(Recurrence(hidden=hidden))
    assert (mixer.out is not None) == maps
    assert mixer(torch.zeros(2, WIDTH).double(), Packed.of([2]))[0].shape == (2, WIDTH)
    assert mixer.start(3)[0].hidden_BH.shape == (3, hidden or WIDTH)


@pytest.mark.parametrize(("cell", "theirs"), [("elman", nn.RNNCell), ("gru", nn.GRUCell), ("lstm", nn.LSTMCell)])
def test_one_step_against_torchs_cells(cell: Cell, theirs: type[nn.Module]) -> None:
    mixer, state = built(Recurrence(cell=cell)), some_state(cell, 3)
    assert mixer.ahead is not None
    other = theirs(WIDTH, WIDTH).double()
    other.load_state_dict(dict(zip(other.state_dict(), mixer.ahead.weights, strict=True)))
    x = torch.randn(3, WIDTH).double()
    ours, _ = mixer.ahead.step(x, state)
    if cell == "lstm":
        hidden, memory = other(x, (state.hidden_BH, state.cell_BH))
        torch.testing.assert_close(ours.cell_BH, memory)
    else:
        hidden = other(x, state.hidden_BH)
    torch.testing.assert_close(ours.hidden_BH, hidden)


def test_where_chooses_by_row() -> None:
    old, new = some_state("lstm", 2), RecurrentState(torch.ones(2, WIDTH).double(), torch.ones(2, WIDTH).double())
    chosen = old.where(torch.tensor([[True], [False]]), new)
    assert torch.equal(chosen.hidden_BH[0], new.hidden_BH[0])
    assert torch.equal(chosen.hidden_BH[1], old.hidden_BH[1])
    assert chosen.cell_BH is not None
    assert old.cell_BH is not None
    assert torch.equal(chosen.cell_BH[1], old.cell_BH[1])
