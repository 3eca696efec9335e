"""What a step frees is kept for the next one.

The C library gives large blocks back to the system at once and asks for them again, and the system clears each page
before it hands it out: of a step on a CPU that can be a sixth. Nothing is done where there is no such library.
"""

import ctypes
from contextlib import suppress

# numbers of mallopt(3)
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
NEVER = (1 << 31) - 1
LARGEST = 1 << 30  # blocks up to here are kept
AT_ONCE = 64 << 20  # so much is asked for at a time


def keep_freed_memory() -> bool:
    """For the whole process, from now on; False where the C library knows nothing of it."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    asked = (MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, NEVER), (TOP_PAD, AT_ONCE)
    return all(mallopt(what, value) == 1 for what, value in asked)


def give_freed_memory() -> None:
    """Back to the system, all that is kept and not in use now."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
