"""Distances, and two ways from one number a distance to one number a key."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.layers.positions.relative import Relative, distances, skew, spread
from tests.examples import many


def test_distances() -> None:
    """Key's position minus query's: the past is negative."""
    assert distances(torch.arange(3)[None], 3).tolist() == [[[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]]
    assert distances(torch.tensor([[4], [1]]), 3).tolist() == [[[-4, -3, -2]], [[-1, 0, 1]]]


def test_skew_by_hand() -> None:
    """Row t holds distances -2 … 2, as 10·t + distance + 2; row t is shifted by t places."""
    x = torch.tensor([[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24]])
    assert skew(x).tolist() == [[2, 3, 4], [11, 12, 13], [20, 21, 22]]


@many
@given(steps=st.integers(1, 12), seed=st.integers(0, 99))
def test_skew_is_spread(steps: int, seed: int) -> None:
    x_BHTM = torch.randn(2, 3, steps, 2 * steps - 1, generator=torch.Generator().manual_seed(seed))
    index_BTS = distances(torch.arange(steps)[None], steps) + steps - 1
    assert torch.equal(skew(x_BHTM), spread(x_BHTM, index_BTS.expand(2, -1, -1)))


def test_spread_looks_up_by_row() -> None:
    x_BHTM = torch.tensor([[[[1, 2, 3], [4, 5, 6]]], [[[7, 8, 9], [10, 11, 12]]]])
    index_BTS = torch.tensor([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])
    assert spread(x_BHTM, index_BTS).tolist() == [[[[1, 3], [5, 5]]], [[[9, 9], [10, 11]]]]


def test_the_contract_does_nothing_by_itself() -> None:
    x = torch.ones(1, 2, 3)
    relative = Relative()
    assert relative.turn(x, torch.zeros(1)) is x
    assert relative.bias(x, torch.zeros(1), 3, True) is None
    assert not relative.mixes_values
