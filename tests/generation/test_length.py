"""Penalties by hand."""

import pytest
import torch

from seqloom.generation.length import penalty
from seqloom.generation.settings import LengthSettings, MeanLength, NoLength, WuLength


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (WuLength(alpha=1), 2.0),
        (WuLength(alpha=0), 1.0),
        (MeanLength(), 7.0),
        (MeanLength(alpha=0.5), 7**0.5),
        (NoLength(), 1.0),
    ],
)
def test_penalties(settings: LengthSettings, wanted: float) -> None:
    assert penalty(settings, 7.0) == pytest.approx(wanted)
    assert penalty(settings, torch.tensor([7.0])).tolist() == pytest.approx([wanted])
    assert penalty(settings, 9.0) >= penalty(settings, 7.0)
