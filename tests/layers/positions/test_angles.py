"""Position times a falling rate, precise enough for long sequences."""

import pytest
import torch

from seqloom.layers.positions.angles import angles


def test_rates_fall_from_one_towards_one_over_base() -> None:
    ours = angles(torch.tensor([1, 5]), 4, 100.0, torch.float64)
    assert ours.tolist() == [pytest.approx([1.0, 0.1]), pytest.approx([5.0, 0.5])]


def test_precision() -> None:
    assert angles(torch.tensor([1]), 4, 100.0, torch.bfloat16).dtype == torch.float32
    assert angles(torch.tensor([257]), 4, 100.0, torch.bfloat16)[0, 0] == 257
    assert angles(torch.tensor([1]), 4, 100.0, torch.float64).dtype == torch.float64
