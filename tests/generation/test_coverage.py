"""The penalty by hand."""

import math

import pytest
import torch

from seqloom.generation.coverage import coverage


def test_only_what_is_read_too_little_costs() -> None:
    read = torch.tensor([[0.5, 1.7, 0.25, 0.0], [1.0, 2.0, 0.0, 0.0]])
    assert coverage(read, torch.tensor([3, 2]), 0.2).tolist() == pytest.approx([0.2 * math.log(0.125), 0.0])


def test_what_is_never_read_costs_most() -> None:
    """Attention can come out as exactly 0; then it costs no less than where it is nearly so."""
    never, nearly, some = coverage(
        torch.tensor([[1.0, 0.0, 0.0], [1.0, 1e-37, 0.0], [1.0, 0.1, 0.0]]), torch.tensor(2), 0.2
    ).tolist()
    assert -math.inf < never <= nearly < some < 0
