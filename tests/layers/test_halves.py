"""Weights in half precision are those of the moment, and only while they are asked for."""

import torch
from torch import nn

from seqloom.layers.halves import Halves, half_of


def test_they_are_the_weights_of_now() -> None:
    weights = [nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(5))]
    halves = Halves(weights, torch.bfloat16)
    where = [half.data_ptr() for half in halves.half]
    for _ in range(2):
        with halves.at_hand():
            for weight, place in zip(weights, where, strict=True):
                half = half_of(weight, torch.bfloat16)
                assert torch.equal(half, weight.bfloat16())
                assert half.data_ptr() == place
                assert not half.requires_grad
            assert half_of(weights[0], torch.float16).dtype == torch.float16
        with torch.no_grad():
            weights[0].add_(1.0)
    assert half_of(weights[0], torch.bfloat16).data_ptr() not in where


def test_other_weights_are_turned_alone() -> None:
    double, other = nn.Parameter(torch.randn(2).double()), nn.Parameter(torch.randn(2))
    with Halves([double], torch.bfloat16).at_hand():
        assert torch.equal(half_of(double, torch.bfloat16), double.bfloat16())
        assert torch.equal(half_of(other, torch.bfloat16), other.bfloat16())


def test_an_error_leaves_nothing_behind() -> None:
    weight = nn.Parameter(torch.randn(2))
    halves = Halves([weight], torch.bfloat16)
    try:
        with halves.at_hand():
            raise KeyError
    except KeyError:
        pass
    assert half_of(weight, torch.bfloat16).data_ptr() != halves.half[0].data_ptr()
