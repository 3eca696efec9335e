"""A decoder that stands on its encoder reads the state at its own place."""

import pytest
import torch

from seqloom.layers.aligned import Aligned, AlignedMixer
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory, fan_out, fork, join

WIDTH = 3
STATES = torch.arange(1.0, 6.0)[:, None].expand(-1, WIDTH)  # rows [1, 2, 3] and [4, 5]
MEMORY = Memory(STATES, Packed.of([3, 2]))
MIXER = AlignedMixer(Aligned(project=False), WIDTH)


def test_each_step_reads_its_own_place_and_nothing_behind_the_end() -> None:
    y, _ = MIXER(torch.zeros(9, WIDTH), Packed.of([5, 4]), MIXER.begin(2, MEMORY))
    assert y[:, 0].tolist() == [1, 2, 3, 0, 0, 4, 5, 0, 0]


def test_a_shorter_target_reads_less() -> None:
    y, _ = MIXER(torch.zeros(2, 1, WIDTH), Padded.whole(2, 1), MIXER.begin(2, MEMORY))
    assert y[:, 0, 0].tolist() == [1, 4]


def test_steps_go_on_each_from_its_own_place() -> None:
    state = MIXER.start(2, MEMORY)
    _, state = MIXER(torch.zeros(2, 2, WIDTH), Padded.of([2, 0], 2), state)
    y, _ = MIXER(torch.zeros(2, 1, WIDTH), Padded.whole(2, 1), state)
    assert y[:, 0, 0].tolist() == [3, 4]


def test_rows_that_fan_out_share_the_source() -> None:
    state = fan_out(MIXER.start(2, MEMORY), 3)
    assert state.memory_ASD.shape[0] == 2
    state = fork(state, torch.tensor([1, 1, 0, 5, 4, 3]))
    y, _ = MIXER(torch.zeros(6, 1, WIDTH), Padded.whole(6, 1), state)
    assert y[:, 0, 0].tolist() == [1, 1, 1, 4, 4, 4]
    with pytest.raises(ValueError, match="as many rows share"):
        join([state, MIXER.start(2, MEMORY)])


def test_it_is_a_map_of_the_state() -> None:
    mixer = AlignedMixer(Aligned(), WIDTH, memory_width=5)
    states = torch.randn(2, 5)
    y, _ = mixer(torch.zeros(3, WIDTH), Packed.of([3]), mixer.begin(1, Memory(states, Packed.of([2]))))
    assert torch.allclose(y[:2], mixer.out(states))
    assert y[2].tolist() == [0] * WIDTH  # no bias where there is nothing


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="needs a map"):
        AlignedMixer(Aligned(project=False), WIDTH, memory_width=5)
    with pytest.raises(ValueError, match="needs a memory"):
        MIXER.start(2)
    with pytest.raises(ValueError, match="the state that `start` makes"):
        MIXER(torch.zeros(1, WIDTH), Packed.of([1]))
    with pytest.raises(ValueError, match="for whole sequences"):
        fan_out(MIXER.begin(2, MEMORY), 2)
