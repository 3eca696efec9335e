"""The most memory that training took."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

import torch

from seqloom.training.freed_memory import give_freed_memory

STATUS = Path("/proc/self/status")
FORGET = Path("/proc/self/clear_refs")


def peak_memory(device: torch.device) -> float:
    """Bytes: of tensors on a GPU; elsewhere of this whole process. Since it began, or was told to forget."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    return _high_water() or _largest()


def forget_peak(device: torch.device) -> None:
    """What was tried out before, such as batches that turned out too large, is not training; where it can be told."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    give_freed_memory()
    with suppress(OSError):
        FORGET.write_text("5", encoding="ascii")  # Linux: the high-water mark begins again from what is in use


def _high_water() -> float | None:
    """Of this program alone: `ru_maxrss` of a process also knows how large the one was that started it."""
    try:
        lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines())
        return 1024.0 * int(lines["VmHWM"].split()[0])
    except (OSError, KeyError, ValueError):
        return None


def _largest() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
