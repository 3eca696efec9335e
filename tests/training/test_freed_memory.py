"""Memory that was freed is used again."""

import subprocess
import sys

import pytest

from seqloom.training.freed_memory import keep_freed_memory

COUNT = """
import resource, torch
from seqloom.training.freed_memory import keep_freed_memory
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step(): return [torch.ones(10_000_000) for _ in range(3)]
{first}
for _ in range(6):
    step()
before = faults()
step()
print(faults() - before)
"""


def faults(first: str) -> int:
    """Pages that the system hands out while a step is made that was made before."""
    done = subprocess.run([sys.executable, "-c", COUNT.format(first=first)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the C library of Linux")
def test_a_step_made_again_asks_the_system_for_nothing() -> None:
    pages = 3 * 40_000_000 // 4096
    kept = faults("assert keep_freed_memory()")
    assert kept < pages / 100
    assert kept < faults("") / 10


def test_it_can_be_asked_for_twice() -> None:
    assert keep_freed_memory() == keep_freed_memory()
