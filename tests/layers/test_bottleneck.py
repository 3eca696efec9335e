"""The fixed vector: three ways to make it, and every step that gets it."""

import pytest
import torch
from torch import nn

from seqloom.layers.bottleneck import Bottleneck, BottleneckMixer, Summary, summarise
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer

WIDTH = 4


def memory() -> Memory:
    torch.manual_seed(0)
    return Memory(torch.randn(6, WIDTH).double(), Packed.of([3, 1, 0, 2]))


def test_each_summary() -> None:
    rows = memory().states.split([3, 1, 0, 2])
    nothing = torch.zeros(WIDTH).double()
    for b, row in enumerate(rows):
        if not len(row):
            assert all(torch.equal(summarise(memory(), how)[b], nothing) for how in ("last", "first", "ends", "mean"))
            continue
        assert torch.equal(summarise(memory(), "last")[b], row[-1])
        assert torch.equal(summarise(memory(), "first")[b], row[0])
        torch.testing.assert_close(summarise(memory(), "mean")[b], row.mean(0))
        assert torch.equal(summarise(memory(), "ends")[b], torch.cat((row[-1, :2], row[0, 2:])))


@pytest.mark.parametrize("how", ["last", "first", "ends", "mean"])
def test_padding_before_the_rows_changes_nothing(how: Summary) -> None:
    packed = memory()
    left = torch.full((4, 5, WIDTH), 1e3).double()
    for b, row in enumerate(packed.states.split([3, 1, 0, 2])):
        left[b, 5 - len(row) :] = row
    padded = Memory(left, Padded.of([3, 1, 0, 2], 5, [2, 4, 5, 3]))
    torch.testing.assert_close(summarise(padded, how), summarise(packed, how))


def test_the_ends_of_a_bidirectional_lstm_are_its_two_final_states() -> None:
    torch.manual_seed(0)
    theirs = nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True, dtype=torch.float64)
    ours = RecurrenceMixer(Recurrence(direction="both"), WIDTH, causal=False).double()
    assert ours.ahead is not None
    assert ours.back is not None
    with torch.no_grad():
        for cell, weights in zip((ours.ahead, ours.back), theirs.all_weights, strict=True):
            for own, other in zip(cell.weights, weights, strict=True):
                own.copy_(other)
    x = torch.randn(3, 5, WIDTH).double()
    layout = Padded.of([5, 3, 1])
    states, _ = ours(x, layout)
    summary = summarise(Memory(states, layout), "ends")
    for b, length in enumerate([5, 3, 1]):
        _, (finals, _) = theirs(x[b : b + 1, :length])
        torch.testing.assert_close(summary[b], finals[:, 0].flatten())


def test_every_step_gets_the_same_vector() -> None:
    torch.manual_seed(1)
    mixer = BottleneckMixer(Bottleneck(summary="mean"), WIDTH).double()
    source = memory()
    state = mixer.start(4, source)
    expected_BD = summarise(source, "mean") @ mixer.out.weight.T + mixer.out.bias
    torch.testing.assert_close(state.context_BD, expected_BD)
    layout = Packed.of([2, 0, 1, 3])
    y, after = mixer(torch.randn(6, WIDTH).double(), layout, state)
    torch.testing.assert_close(y, expected_BD[[0, 0, 2, 3, 3, 3]])
    assert after is state
    y, _ = mixer(torch.randn(4, 2, WIDTH).double(), Padded.whole(4, 2), state)
    torch.testing.assert_close(y, expected_BD[:, None].expand(-1, 2, -1))


def test_a_memory_of_another_width_and_no_bias() -> None:
    mixer = BottleneckMixer(Bottleneck(bias=False), 3, memory_width=WIDTH)
    assert mixer.out.bias is None
    assert mixer.out.weight.shape == (3, WIDTH)


def test_what_it_needs() -> None:
    mixer = BottleneckMixer(Bottleneck(), WIDTH)
    with pytest.raises(ValueError, match="the bottleneck needs a memory to start from"):
        mixer.start(1)
    with pytest.raises(ValueError, match="the bottleneck needs the state that `start` makes from a memory"):
        mixer(torch.zeros(1, WIDTH), Packed.of([1]))
