"""Memory for weights that are read from end to end in every step, in large pages where the system has them.

A processor fetches ahead within a page only, and looks up where each page lies: with pages of 2 MiB instead of 4 KiB a
step that waits for memory, as one of few rows does, takes about two thirds of the time.
"""

import ctypes
import sys
import threading

import torch
from torch import Tensor

PAGE = 1 << 21
CHUNK = 8 * PAGE  # that is asked for at once; weights share it, and it is given back with the last of them
ALIGNED = 64
LARGE_PAGES = 14  # MADV_HUGEPAGE, of Linux


class _Arena:
    def __init__(self) -> None:
        self.chunk = torch.empty(0, dtype=torch.uint8)
        self.used = 0
        self.lock = threading.Lock()

    def take(self, size: int) -> Tensor:
        with self.lock:
            if self.used + size > len(self.chunk):
                self.chunk, self.used = _chunk(max(size, CHUNK)), 0
            taken = self.chunk[self.used : self.used + size]
            self.used += -(-size // ALIGNED) * ALIGNED
        return taken


_arena = _Arena()


def empty(size: int, dtype: torch.dtype) -> Tensor:
    return _arena.take(size * dtype.itemsize).view(dtype)


def _chunk(size: int) -> Tensor:
    with torch.inference_mode(False):  # it outlives whoever asks first
        made = torch.empty(size + 2 * PAGE, dtype=torch.uint8)
    begin = -made.data_ptr() % PAGE
    whole = made[begin : begin + -(-size // PAGE) * PAGE]
    if sys.platform == "linux":  # before anything is written there; where it is refused, pages are small
        ctypes.CDLL(None).madvise(ctypes.c_void_p(whole.data_ptr()), ctypes.c_size_t(len(whole)), LARGE_PAGES)
    return whole
