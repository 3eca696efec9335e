"""Positions that join the input: how far they reach, how wide they may be, and what they say past their end."""

import math

import pytest
import torch

from seqloom.layers.paths import only_plain
from seqloom.layers.positions import (
    Learned,
    LearnedPositions,
    NoPositions,
    Sinusoidal,
    SinusoidalPositions,
    build_positions,
)


@pytest.mark.parametrize("order", ["interleaved", "halves"])
@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_sinusoids_against_the_formula(order: str, base: float) -> None:
    settings = Sinusoidal.model_validate({"order": order, "base": base})
    ours = SinusoidalPositions(settings, 8)(torch.tensor([[0, 3], [1000, 77]]), torch.float64)
    assert ours.shape == (2, 2, 8)
    for row, column, position in (0, 1, 3), (1, 0, 1000), (1, 1, 77):
        for i in range(4):
            angle = position / base ** (2 * i / 8)
            sine, cosine = (2 * i, 2 * i + 1) if order == "interleaved" else (i, 4 + i)
            assert ours[row, column, sine].item() == pytest.approx(math.sin(angle), abs=1e-9)
            assert ours[row, column, cosine].item() == pytest.approx(math.cos(angle), abs=1e-9)


def test_sinusoids_need_an_even_width() -> None:
    with pytest.raises(ValueError, match="their width must be even, not 5"):
        SinusoidalPositions(Sinusoidal(), 5)


def test_half_precision_can_tell_far_positions_apart() -> None:
    """bfloat16 has no number 257; the angles must be made before the rounding."""
    positions = SinusoidalPositions(Sinusoidal(), 8)(torch.tensor([256, 257, 1001]), torch.bfloat16)
    exact = SinusoidalPositions(Sinusoidal(), 8)(torch.tensor([256, 257, 1001]), torch.float64)
    assert positions.dtype == torch.bfloat16
    torch.testing.assert_close(positions.double(), exact, atol=4e-3, rtol=0)


def test_kept_sinusoids_are_those_of_the_formula() -> None:
    positions = SinusoidalPositions(Sinusoidal(), 8)
    places = torch.tensor([[0, 3], [511, 77]]), torch.tensor([[1, 2], [512, 4]])
    for dtype in torch.float32, torch.float64, torch.float32:
        for at in places:
            with only_plain():
                fresh = positions.train()(at, dtype)
            assert torch.equal(positions(at, dtype), fresh)
            assert torch.equal(positions.eval()(at, dtype), fresh)
    assert positions.eval()(torch.zeros(0, dtype=torch.int64), torch.float32).shape == (0, 8)


def test_training_keeps_them_too() -> None:
    positions = SinusoidalPositions(Sinusoidal(), 8).train()
    positions(torch.tensor([0, 512]), torch.float32)
    assert positions.table_PD is None
    positions(torch.tensor([0, 511]), torch.float32)
    assert positions.table_PD is not None


def test_sinusoids_that_were_kept_while_writing_serve_learning_too() -> None:
    positions = SinusoidalPositions(Sinusoidal(), 8).eval()
    with torch.inference_mode():
        positions(torch.arange(3), torch.float32)
    weight = torch.ones(8, requires_grad=True)
    (positions(torch.arange(3), torch.float32) * weight).sum().backward()
    assert weight.grad is not None


def test_learned_positions_are_looked_up() -> None:
    positions = LearnedPositions(Learned(length=4), 3)
    at = torch.tensor([[0, 3], [2, 2]])
    assert torch.equal(positions(at, torch.float32), positions.weight_PD[at])
    assert positions(at, torch.bfloat16).dtype == torch.bfloat16


def test_past_the_last_learned_position() -> None:
    positions = LearnedPositions(Learned(length=4), 3)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        positions(torch.tensor([2, 4]), torch.float32)
    assert str(caught.value) == (
        "position 5 of a sequence, but positions are learned for the first 4 only; "
        "raise positions.length, or choose kind = 'sinusoidal'"
    )


def test_built_by_kind() -> None:
    assert build_positions(NoPositions(), 4) is None
    assert isinstance(build_positions(Sinusoidal(), 4), SinusoidalPositions)
    assert isinstance(build_positions(Learned(length=7), 4), LearnedPositions)
