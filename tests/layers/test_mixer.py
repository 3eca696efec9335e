"""The contract's helpers: reordering any state, memories as padded ones, and mixers without a state."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory, Mixer, join, no_state, reorder


@dataclass(frozen=True)
class Inner:
    values_B: Tensor
    note: str = "kept"


@dataclass(frozen=True)
class Outer:
    layers: tuple[Inner, ...]
    lengths_B: Tensor
    cell: Tensor | None = None


def test_reorder_reaches_every_tensor() -> None:
    numbers = torch.arange(3)
    state = Outer((Inner(numbers), Inner(numbers * 10, "other")), numbers * 100)
    moved = reorder(state, torch.tensor([2, 2, 0, 1]))
    assert moved.lengths_B.tolist() == [200, 200, 0, 100]
    assert [layer.values_B.tolist() for layer in moved.layers] == [[2, 2, 0, 1], [20, 20, 0, 10]]
    assert [layer.note for layer in moved.layers] == ["kept", "other"]
    assert moved.cell is None
    assert state.lengths_B.tolist() == [0, 100, 200]


@dataclass(frozen=True)
class Read:
    values_B: Tensor
    fixed: bool = True


def test_what_was_made_from_a_memory_stays_among_rows_that_share_it() -> None:
    state = (Read(torch.arange(2)), torch.arange(2))
    rows = torch.tensor([1, 1])
    read, own = reorder(state, rows, same_memory=True)
    assert (read.values_B.tolist(), own.tolist()) == ([0, 1], [1, 1])
    assert reorder(state, rows)[0].values_B.tolist() == [1, 1]


def test_rows_may_leave() -> None:
    assert reorder(torch.arange(4), torch.tensor([3])).tolist() == [3]


def test_a_memory_as_a_padded_one() -> None:
    states = torch.arange(1.0, 7.0)[:, None]
    expected = [[1, 2, 3], [4, 5, 0], [6, 0, 0]]
    packed = Memory(states, Packed.of([3, 2, 1])).padded()
    assert packed.states[..., 0].tolist() == expected
    assert isinstance(packed.layout, Padded)
    assert packed.layout.lengths_B.tolist() == [3, 2, 1]
    assert not packed.layout.uniform
    left = torch.tensor([[1, 2, 3], [0, 4, 5], [0, 0, 6]]).float()[..., None]
    moved = Memory(left, Padded.of([3, 2, 1], 3, [0, 1, 2])).padded()
    assert moved.states[..., 0].tolist() == expected
    assert isinstance(moved.layout, Padded)
    assert moved.layout.starts_B is None
    assert moved.padded() is moved
    assert Memory(states, Packed.of([3, 3])).padded().layout.uniform


def test_no_state() -> None:
    no_state(nn.Identity(), None)
    with pytest.raises(ValueError, match="this Identity is not causal: it reads whole sequences and has no state"):
        no_state(nn.Identity(), torch.zeros(1))


def test_the_anchor_follows_the_module_and_is_not_saved() -> None:
    mixer = Mixer().double()
    assert mixer.anchor.dtype == torch.float64
    assert not mixer.state_dict()
    with pytest.raises(NotImplementedError):
        mixer.start(1)
    with pytest.raises(NotImplementedError):
        mixer(torch.zeros(1, 1), Packed.of([1]))


def test_join_puts_rows_under_each_other() -> None:
    numbers = torch.arange(3)
    one, other = Outer((Inner(numbers),), numbers), Outer((Inner(numbers[:1] + 7),), numbers[:1] + 7)
    joined = join([one, other])
    assert joined.lengths_B.tolist() == joined.layers[0].values_B.tolist() == [0, 1, 2, 7]
    assert joined.cell is None


def test_what_cannot_be_joined() -> None:
    state = Inner(torch.arange(3))
    with pytest.raises(ValueError, match="one says 'kept', another something else"):
        join([state, Inner(torch.arange(3), "other")])
    with pytest.raises(TypeError, match="states of one kind can be joined, not Inner and Outer"):
        join([state, Outer((), torch.arange(3))])
    with pytest.raises(TypeError, match=r"packed memories have no rows to join; begin from memory.padded\(\)"):
        join([Packed.of([1]), Packed.of([1])])
    with pytest.raises(TypeError, match="it cannot hold a list"):
        join([[1], [2]])
