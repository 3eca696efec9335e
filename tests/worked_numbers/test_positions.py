"""Sinusoids, number by number."""

import math

import torch

from seqloom.layers.embedding import TokenEmbedding, Tokens
from seqloom.layers.layout import Packed
from seqloom.layers.positions import Sinusoidal, SinusoidalPositions
from seqloom.models.input import Input
from seqloom.models.stack_settings import StackSettings

# width 6: sin and cos of pos / 1, of pos / 10000^(1/3) = pos / 21.5443, of pos / 10000^(2/3) = pos / 464.1589
WRITTEN_OUT = [
    [0.000000, 1.000000, 0.000000, 1.000000, 0.000000, 1.000000],
    [0.841471, 0.540302, 0.046399, 0.998923, 0.002154, 0.999998],
    [0.909297, -0.416147, 0.092699, 0.995694, 0.004309, 0.999991],
]


def test_sinusoids_of_width_six() -> None:
    ours = SinusoidalPositions(Sinusoidal(), 6)(torch.arange(3), torch.float64)
    torch.testing.assert_close(ours, torch.tensor(WRITTEN_OUT).double(), rtol=0, atol=6e-7)


def test_all_sines_before_all_cosines() -> None:
    ours = SinusoidalPositions(Sinusoidal(order="halves"), 6)(torch.arange(3), torch.float64)
    moved = torch.tensor(WRITTEN_OUT).double()[:, [0, 2, 4, 1, 3, 5]]
    torch.testing.assert_close(ours, moved, rtol=0, atol=6e-7)


def test_embeddings_times_the_root_of_the_width() -> None:
    """Section 3.4: with width 6, each vector times 2.449."""
    embedding = TokenEmbedding(Tokens(scale=True), 11, 6)
    x, _ = embedding(torch.tensor([4]), Packed.of([1]))
    torch.testing.assert_close(x[0], embedding.weight_VD[4] * 2.449489743)


def test_the_input_is_their_sum() -> None:
    layer = Input(Tokens(scale=True), StackSettings(positions=Sinusoidal()), 11, 6).double()
    x, _ = layer(torch.tensor([4, 4, 9]), Packed.of([3]))
    vectors = layer.vectors[[4, 4, 9]] * math.sqrt(6)
    torch.testing.assert_close(x, vectors + torch.tensor(WRITTEN_OUT).double(), rtol=0, atol=6e-7)
