"""Checkpoints: the newest whole one counts, whatever happens while another is written."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.settings import FailedError, UserError
from seqloom.store import atomic, state
from seqloom.store.state import Checkpoint, Checkpoints


def _checkpoint(value: float) -> Checkpoint:
    return Checkpoint({"weights": {"w": torch.full((2,), value)}, "optimiser": {}}, {"value": value})


def _value(checkpoints: Checkpoints) -> float | None:
    newest = checkpoints.newest()
    if newest is None:
        return None
    assert newest.tensors["weights"]["w"].tolist() == [newest.numbers["value"]] * 2
    return float(newest.numbers["value"])


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "state")


def test_the_newest(checkpoints: Checkpoints) -> None:
    assert checkpoints.newest() is None
    assert not checkpoints.any()
    for step in (9, 10, 100):
        checkpoints.save(step, _checkpoint(step))
        assert _value(checkpoints) == step
        assert checkpoints.numbers() == {"value": step}
        assert [place.name for place in checkpoints.folder.iterdir()] == [f"step-{step:08}"]
    assert checkpoints.any()


def test_the_same_step_again_is_not_written(checkpoints: Checkpoints) -> None:
    checkpoints.save(1, _checkpoint(1))
    checkpoints.save(1, _checkpoint(2))
    assert _value(checkpoints) == 1


def test_a_disk_that_fills_up_in_the_middle(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints.save(1, _checkpoint(1))
    real = atomic.save_file

    def half(tensors: Mapping[str, Tensor], path: Path, about: dict[str, str]) -> None:
        real(dict(tensors), path, about)
        path.write_bytes(path.read_bytes()[:50])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "save_file", half)
    with pytest.raises(FailedError, match="the disk is full; what was saved before is still there"):
        checkpoints.save(2, _checkpoint(2))
    monkeypatch.undo()
    assert [place.name for place in checkpoints.folder.iterdir()] == ["step-00000001"]
    assert _value(checkpoints) == 1
    checkpoints.save(2, _checkpoint(2))
    assert _value(checkpoints) == 2


def test_killed_while_the_old_one_is_removed(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints.save(1, _checkpoint(1))

    def killed(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(state, "remove_folder", killed)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(2, _checkpoint(2))
    monkeypatch.undo()
    assert _value(checkpoints) == 2
    checkpoints.save(3, _checkpoint(3))
    assert [place.name for place in checkpoints.folder.iterdir()] == ["step-00000003"]


def test_digests_are_made_side_by_side(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    both, real = Barrier(2), state.digest

    def met(tensors: Mapping[str, Tensor]) -> str:
        both.wait(timeout=10)  # one after the other they would never meet
        return real(tensors)

    monkeypatch.setattr(state, "digest", met)
    groups = {name: {"w": torch.full((3,), value)} for name, value in (("weights", 1.0), ("optimiser", 2.0))}
    checkpoints.save(1, Checkpoint(groups, {}))
    newest = checkpoints.newest()
    assert newest is not None
    assert {name: group["w"].tolist() for name, group in newest.tensors.items()} == {
        "weights": [1.0] * 3,
        "optimiser": [2.0] * 3,
    }


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("state.json", r"step-00000001/state.json: cannot be read \(.*\); --force starts the run anew"),
        ("weights.safetensors", r"weights.safetensors: not a whole safetensors file \(.*\); .* --force"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 100])
def test_one_that_is_not_whole(checkpoints: Checkpoints, file: str, message: str, content: bytes) -> None:
    checkpoints.save(1, _checkpoint(1))
    (checkpoints.folder / "step-00000001" / file).write_bytes(content)
    with pytest.raises(UserError, match=message):
        checkpoints.newest()
