"""Kernels of our own for a GPU, in Triton. Each does what some plain lines do, which stay beside whoever calls it.

Nothing here is imported on a machine without a GPU: ask `usable` first.
"""

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from seqloom.layers.paths import fast


def usable(x: Tensor) -> bool:
    """Whether our kernels may work on this tensor. A compiler gets the plain lines: it makes kernels of its own."""
    return x.is_cuda and fast() and has_triton() and not torch.compiler.is_compiling()


def half(x: Tensor) -> bool:
    """Whether autocast asks for half precision on a GPU where our kernels may work."""
    return usable(x) and torch.is_autocast_enabled("cuda")


@cache
def has_triton() -> bool:
    return find_spec("triton") is not None
