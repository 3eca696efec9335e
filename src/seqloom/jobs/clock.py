"""When this process began: a promise of minutes holds from there, not from when all is imported."""

import os
import time
from pathlib import Path


def process_began() -> float:
    """By the monotonic clock; where the system does not say, now."""
    now = time.monotonic()
    try:
        # behind the name, which may hold spaces: field 22 is the start, in ticks since the machine came up
        ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - max(0.0, age)
