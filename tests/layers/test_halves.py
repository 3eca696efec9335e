"""Weights in half precision are those of the moment, and only while they are asked for."""

import pytest
import torch
from torch import nn

from seqloom.layers.halves import Halves
from seqloom.layers.linear import Linear


def test_they_are_the_weights_of_now() -> None:
    first, second = Linear(4, 3), Linear(3, 5, bias=False)
    halves = Halves(nn.Sequential(first, nn.Linear(3, 3), second), torch.bfloat16)
    where = [half.data_ptr() for half in halves.half]
    for _ in range(2):
        with halves.at_hand():
            assert first.halved is not None
            assert second.halved is not None
            weight, bias = first.halved
            assert bias is not None
            assert torch.equal(weight, first.weight.bfloat16())
            assert torch.equal(bias, first.bias.bfloat16())
            assert torch.equal(second.halved[0], second.weight.bfloat16())
            assert second.halved[1] is None
            assert [weight.data_ptr(), bias.data_ptr(), second.halved[0].data_ptr()] == where
            assert not weight.requires_grad
        assert first.halved is None
        with torch.no_grad():
            first.weight.add_(1.0)


def test_shared_weights_are_turned_once() -> None:
    first, second = Linear(4, 4), Linear(4, 4)
    second.weight = first.weight
    halves = Halves(nn.Sequential(first, second), torch.bfloat16)
    assert len(halves.half) == 3
    with halves.at_hand():
        assert first.halved is not None
        assert second.halved is not None
        assert first.halved[0] is second.halved[0]


def test_others_are_left_alone() -> None:
    double = Linear(2, 2).double()
    with Halves(double, torch.bfloat16).at_hand():
        assert double.halved is None


def test_an_error_leaves_nothing_behind() -> None:
    layer = Linear(2, 2)
    with pytest.raises(KeyError), Halves(layer, torch.bfloat16).at_hand():
        raise KeyError
    assert layer.halved is None
