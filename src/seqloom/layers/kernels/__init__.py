"""Kernels of our own for a GPU, in Triton. Each does what some plain lines do, which stay beside whoever calls it.

Nothing here is imported on a machine without a GPU: ask `usable` first.
"""

import os
import shutil
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Thread

import torch
from torch import Tensor

from seqloom.layers.paths import fast


def usable(x: Tensor) -> bool:
    """Whether our kernels may work on this tensor. A compiler gets the plain lines: it makes kernels of its own.

    Gradients that they make have no gradients.
    """
    return x.is_cuda and fast() and has_triton()


def half(x: Tensor) -> bool:
    """Whether autocast asks for half precision on a GPU where our kernels may work."""
    return usable(x) and torch.is_autocast_enabled("cuda")


@cache
def make_ready() -> None:
    """Triton reads all of its own files before it makes a first kernel: in a thread, while others read data."""
    if has_triton():
        Thread(target=_read_triton, daemon=True).start()


def _read_triton() -> None:
    with suppress(ImportError, AttributeError, OSError, RuntimeError):  # else it does so when it is asked for a kernel
        from triton.runtime.cache import triton_key

        triton_key()


def has_triton() -> bool:
    """Whether our kernels can be made here. Nobody asks while torch compiles."""
    return not torch.compiler.is_compiling() and _found()


@cache
def _found() -> bool:
    """Triton, the compiler of C that it needs, and a GPU that it is made for."""
    compiler = os.environ.get("CC") or any(map(shutil.which, ("cc", "gcc", "clang")))
    new = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    return find_spec("triton") is not None and bool(compiler) and new
