"""Writes that fail leave what was there, and say why."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seqloom.settings import FailedError
from seqloom.store import atomic
from seqloom.store.atomic import add_text, new_folder, remove_folder, write_tensors, write_text


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which nothing more can be brought."""

    def refuse(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "to_disk", refuse)


def test_text_and_tensors(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "zwölf\n")
    write_tensors(tmp_path / "a.safetensors", {"x": torch.arange(6).reshape(2, 3).T})
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "zwölf\n"
    assert load_file(tmp_path / "a.safetensors")["x"].equal(torch.arange(6).reshape(2, 3).T)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.safetensors", "a.txt"]


@pytest.mark.parametrize(
    "write",
    [lambda path: write_text(path, "new"), lambda path: write_tensors(path, {"x": torch.ones(2)})],
    ids=["text", "tensors"],
)
def test_a_full_disk(tmp_path: Path, full: None, write: Callable[[Path], None]) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(FailedError) as caught:
        write(tmp_path / "file")
    assert str(caught.value) == (
        f"{tmp_path / 'file'}: cannot be written: the disk is full; what was saved before is still there"
    )
    assert (tmp_path / "file").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EROFS, "the disk is read-only"),
        (errno.EACCES, "no permission"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str) -> None:
    def refuse(self: Path, data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(FailedError, match=f"cannot be written: {why}; name another place to write to"):
        write_text(tmp_path / "file", "new")
    (tmp_path / "old").touch()
    with pytest.raises(FailedError, match=f"cannot be written: {why}; name another place to write to"):
        write_text(tmp_path / "old", "new")


def test_the_package_for_tensors_reports_too(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=r"x/a.safetensors: cannot be written: .*No such file"):
        write_tensors(tmp_path / "x" / "a.safetensors", {"x": torch.ones(2)})


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "step") as partial:
        (partial / "file").write_text("1")
        assert not (tmp_path / "step").exists()
    assert (tmp_path / "step" / "file").read_text() == "1"
    assert [file.name for file in tmp_path.iterdir()] == ["step"]


def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, full: None) -> None:
    nothing = pytest.raises(FailedError, match=r"step: cannot be written: the disk is full; name another place to")
    with nothing, new_folder(tmp_path / "step") as partial:
        (partial / "file").write_text("1")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_fails_leaves_those_beside_it(tmp_path: Path, full: None) -> None:
    (tmp_path / "before").mkdir()
    still = "the disk is full; what was saved before is still there"
    with pytest.raises(FailedError, match=f"step: cannot be written: {still}"), new_folder(tmp_path / "step"):
        pass
    with pytest.raises(FailedError, match=f"file: cannot be written: {still}"), new_folder(tmp_path / "step") as part:
        write_text(part / "file", "1")
    assert [file.name for file in tmp_path.iterdir()] == ["before"]


def test_what_a_kill_left_of_a_folder_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "step.partial").mkdir()
    (tmp_path / "step.partial" / "old").write_text("half")
    with new_folder(tmp_path / "step") as partial:
        (partial / "file").write_text("1")
    assert [file.name for file in (tmp_path / "step").iterdir()] == ["file"]


def test_a_folder_is_removed_under_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "step").mkdir()
    monkeypatch.setattr(atomic.shutil, "rmtree", lambda path, **how: None)  # killed right before
    remove_folder(tmp_path / "step")
    assert [file.name for file in tmp_path.iterdir()] == ["step.partial"]
    monkeypatch.undo()
    remove_folder(tmp_path / "step.partial")
    remove_folder(tmp_path / "never there")
    assert list(tmp_path.iterdir()) == []


def test_text_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_text(tmp_path / "lines", "1\n")
    add_text(tmp_path / "lines", "2\n")
    assert (tmp_path / "lines").read_text() == "1\n2\n"
    with pytest.raises(FailedError, match=r"lines: cannot be written: .*directory"):
        add_text(tmp_path / "missing" / "lines", "1\n")
