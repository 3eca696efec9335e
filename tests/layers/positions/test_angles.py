"""Position times a falling rate, as precise as one asks."""

import pytest
import torch

from seqloom.layers.positions.angles import angles


def test_rates_fall_from_one_towards_one_over_base() -> None:
    ours = angles(torch.tensor([1, 5]), 4, 100.0, torch.float64)
    assert ours.tolist() == [pytest.approx([1.0, 0.1]), pytest.approx([5.0, 0.5])]


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_precision_is_asked_for(precision: torch.dtype) -> None:
    ours = angles(torch.tensor([257]), 4, 100.0, precision)
    assert ours.dtype == precision
    assert ours[0, 0] == 257


def test_in_double_precision_a_far_position_keeps_its_digits() -> None:
    ours = angles(torch.tensor([1_000_003]), 4, 10_000.0, torch.float64)
    assert ours[0].tolist() == pytest.approx([1_000_003, 10_000.03], rel=1e-15)
