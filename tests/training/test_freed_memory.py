"""Memory that was freed is used again."""

import subprocess
import sys
from pathlib import Path

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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_what_is_kept_can_be_given_back() -> None:
    program = """
from pathlib import Path
import torch
from seqloom.training.freed_memory import give_freed_memory, keep_freed_memory
keep_freed_memory()
held = [torch.ones(1_000_000) for _ in range(100)]
kept = torch.ones(10)
del held
used = lambda: int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
before = used()
give_freed_memory()
print(before - used())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 300_000, "of 400 MB"
