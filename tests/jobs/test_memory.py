"""How much memory there is: of the machine, and of a container with less."""

from pathlib import Path

import pytest
import torch

from seqloom.jobs import memory
from seqloom.jobs.memory import free_bytes

CPU = torch.device("cpu")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    return tmp_path


def test_the_machine(machine: Path) -> None:
    assert free_bytes(CPU) == 4000 * 1024


@pytest.mark.parametrize(("most", "left"), [("max", 4000 * 1024), ("3000000", 2_300_000), ("600000", 0)])
def test_a_container(machine: Path, most: str, left: int) -> None:
    (machine / "memory.max").write_text(f"{most}\n")
    (machine / "memory.current").write_text("1300000\n")
    (machine / "memory.stat").write_text("anon 500000\nactive_file 200000\ninactive_file 400000\n")
    assert free_bytes(CPU) == left


def test_where_nothing_is_told(machine: Path) -> None:
    (machine / "meminfo").write_text("nothing\n")
    assert free_bytes(CPU) > 0
