"""The most memory that training took."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from seqloom.training import peak_memory as module
from seqloom.training.peak_memory import forget_peak, peak_memory

CPU = torch.device("cpu")
MB = 1e6


def test_it_is_that_of_this_process() -> None:
    before = peak_memory(CPU)
    assert before > 20 * MB
    held = torch.ones(30_000_000)
    with_it = peak_memory(CPU)
    del held
    assert with_it >= 120 * MB
    assert peak_memory(CPU) >= 0.99 * with_it  # the most that it ever was; Linux counts a little late


def test_without_proc_the_system_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "STATUS", tmp_path / "nothing")
    assert peak_memory(CPU) > 20 * MB


@pytest.mark.skipif(not module.STATUS.exists(), reason="no /proc")
def test_a_large_parent_is_not_counted() -> None:
    """`ru_maxrss` would: it survives the start of another program."""
    here = torch.ones(100_000_000)  # 400 MB
    read = "print(dict(l.split(':', 1) for l in open('/proc/self/status'))['VmHWM'].split()[0])"
    said = subprocess.run([sys.executable, "-S", "-c", read], capture_output=True, check=True, text=True).stdout
    assert 1024 * int(said) < 100 * MB < peak_memory(CPU)
    del here


@pytest.mark.skipif(not module.FORGET.exists(), reason="no /proc")
def test_what_was_tried_before_is_forgotten() -> None:
    held = torch.ones(100_000_000)
    high = peak_memory(CPU)
    del held
    forget_peak(CPU)
    assert peak_memory(CPU) < high - 300 * MB
