"""The functions between two linear maps."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Literal["relu", "gelu", "gelu-tanh", "silu", "tanh", "sigmoid", "elu", "relu-squared", "identity"]

_FUNCTIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": F.elu,
    "relu-squared": lambda x: F.relu(x).square(),
    "identity": lambda x: x,
}


def activate(name: Activation) -> Callable[[Tensor], Tensor]:
    return _FUNCTIONS[name]
