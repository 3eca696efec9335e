"""Linear biases: the paper's slopes, and how they enter the scores."""

import math

import pytest
import torch

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.layout import Packed
from seqloom.layers.positions import Alibi, AlibiRelative
from seqloom.layers.positions.alibi import slopes


def test_eight_heads() -> None:
    assert slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_sixteen_heads() -> None:
    """From 2^-0.5, by the same factor."""
    assert slopes(16) == pytest.approx([2 ** (-0.5 * n) for n in range(1, 17)])


def test_six_heads() -> None:
    """Those of four heads, then every other one of eight."""
    assert slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 7, 12, 24])
def test_as_many_as_heads_and_all_different(heads: int) -> None:
    found = slopes(heads)
    assert len(set(found)) == heads
    assert all(0 < slope < 1 for slope in found)


def test_the_bias_falls_with_the_distance() -> None:
    bias = AlibiRelative(2).bias(torch.zeros(1, 2, 3, 4), torch.arange(3)[None], 3, True)
    assert bias is not None
    away = torch.tensor([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert torch.equal(bias[0, 0], -away / 16)
    assert torch.equal(bias[0, 1], -away / 256)


def test_while_going_on() -> None:
    bias = AlibiRelative(1).bias(torch.zeros(2, 1, 1, 4), torch.tensor([[2], [0]]), 3, False)
    assert bias is not None
    assert (bias[:, 0, 0] * 256).tolist() == [[-2, -1, 0], [0, -1, -2]]


def test_the_bias_is_not_scaled() -> None:
    """softmax(qᵀk/√K - m·distance): the scale is that of the products alone (Press et al. 2022, section 3)."""
    mixer = SelfAttention(Attention(heads=1, relative=Alibi()), 64, causal=True)
    torch.nn.init.zeros_(mixer.heads.qkv.weight)
    torch.nn.init.zeros_(mixer.heads.qkv.bias)
    weights = mixer.weights(torch.ones(3, 64), Packed.of([3]))[0, 0, 2]
    expected = torch.tensor([math.exp(-2 / 256), math.exp(-1 / 256), 1.0])
    torch.testing.assert_close(weights, expected / expected.sum(), atol=1e-6, rtol=0)
