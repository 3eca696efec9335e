"""The functions between two linear maps, at a few points."""

import math
from collections.abc import Callable
from typing import get_args

import pytest
import torch

from seqloom.layers.activations import Activation, activate


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


FORMULAS: dict[Activation, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu-tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x),
    "tanh": math.tanh,
    "sigmoid": sigmoid,
    "elu": lambda x: x if x > 0 else math.exp(x) - 1,
    "relu-squared": lambda x: max(x, 0.0) ** 2,
    "identity": lambda x: x,
}


@pytest.mark.parametrize("name", get_args(Activation))
def test_each_against_its_formula(name: Activation) -> None:
    points = [-3.0, -0.5, 0.0, 0.25, 2.0]
    ours = activate(name)(torch.tensor(points, dtype=torch.float64))
    assert ours.tolist() == pytest.approx([FORMULAS[name](x) for x in points], abs=1e-12)
