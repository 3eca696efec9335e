"""The functions between two linear maps."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Literal["relu", "gelu", "gelu-tanh", "silu", "tanh", "sigmoid", "elu", "relu-squared", "identity"]


def _relu_squared(x: Tensor) -> Tensor:
    return F.relu(x).square()


def _identity(x: Tensor) -> Tensor:
    return x


_FUNCTIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": F.elu,
    "relu-squared": _relu_squared,
    "identity": _identity,
}


def activate(name: Activation) -> Callable[[Tensor], Tensor]:
    return _FUNCTIONS[name]
