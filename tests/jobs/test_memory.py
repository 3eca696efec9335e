"""How much memory there is: of the machine, and of a container with less."""

from pathlib import Path

import pytest
import torch

from seqloom.jobs import memory
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.memory import free_bytes, refuse_too_large
from seqloom.jobs.train import train
from seqloom.settings import UserError

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


def test_a_model_that_is_larger_than_the_memory_is_refused(machine: Path) -> None:
    refuse_too_large(500 * 1024, CPU)
    with pytest.raises(
        UserError,
        match=r"has 600,000 parameters, which with their gradients take 5 MB, and 4 MB of memory are free \(cpu\)",
    ):
        refuse_too_large(600_000, CPU)


def test_a_guess_refuses_nothing(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(name)

    (machine / "meminfo").unlink()
    monkeypatch.setattr(memory.os, "sysconf", unknown)
    refuse_too_large(10**12, CPU)
    assert free_bytes(CPU) == memory.GUESS
    (machine / "memory.max").write_text("3000000\n")
    (machine / "memory.current").write_text("1000000\n")
    (machine / "memory.stat").write_text("anon 500000\n")
    with pytest.raises(UserError, match="2 MB of memory are free"):
        refuse_too_large(10**12, CPU)


def test_it_is_told_before_it_is_built(machine: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in ("one", "two", "three")) * 9)
    wide = ("task.kind=translate", "model.width=100000", "model.depth=60", "model.mixer.heads=4")
    with pytest.raises(UserError, match=r"parameters, which with their gradients take .* GB, and 4 MB"):
        train(Command("transformer-base-small", (str(tmp_path / "a.tsv"),), out=tmp_path / "run", changes=wide))
