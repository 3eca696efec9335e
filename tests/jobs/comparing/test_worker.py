"""What all systems share is made before the clock of the first one runs."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seqloom.jobs.comparing import worker
from seqloom.jobs.deciding.asked import Command
from seqloom.layers.native import library


def test_kernels_are_not_counted(pairs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    made = list[float]()

    def wait() -> None:
        library._tell("kernels are compiled")
        made.append(time.monotonic())

    def train(command: Command, view: str, began: float) -> SimpleNamespace:
        assert made
        assert began >= made[-1]
        return SimpleNamespace(corpora="trained")

    monkeypatch.setattr(worker, "wait_for_all", wait)
    monkeypatch.setattr(worker, "train", train)
    command = Command("r.toml", ("pairs.tsv",), out=Path("run"))
    assert worker._train(command, "lines") == "trained"  # type: ignore[comparison-overlap]
    assert capsys.readouterr().err == "kernels are compiled\n"
    worker._train(command, "none")
    assert capsys.readouterr().err == ""
