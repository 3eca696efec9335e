"""The penalty by hand."""

import math

import pytest
import torch

from seqloom.generation.coverage import coverage


def test_only_what_is_read_too_little_costs() -> None:
    read = torch.tensor([[0.5, 1.7, 0.25, 0.0], [1.0, 2.0, 0.0, 0.0]])
    assert coverage(read, 0.2).tolist() == pytest.approx([0.2 * math.log(0.125), 0.0])
