"""A run folder: never over what is not a run, one process at a time, and files that are not whole are named."""

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "runs" / "mine")
    made.create()
    return made


def _fill(run: RunFolder) -> None:
    """All that a run writes."""
    run.request.write_text("{}")
    for file in (run.recipe, run.model, run.metrics, run.curves, run.card, run.path / "events.out.tfevents.1.2"):
        file.write_text("x")
    for folder in (run.vocabulary, run.kept, run.state / "step-00000003"):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    (run.path / "model.safetensors.partial").write_text("x")
    run.lock.touch()


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(UserError, match=r"a: is a file; --out names a folder"):
        RunFolder(tmp_path / "a").create()
    with pytest.raises(UserError, match=r"a/b: cannot be written: Not a directory; choose another --out"):
        RunFolder(tmp_path / "a" / "b").create()
    assert (tmp_path / "a").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root may write anywhere, the refusal is made up."""

    def refuse(self: Path, *given: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(UserError, match=r"new: cannot be written: Permission denied; choose another --out"):
        RunFolder(tmp_path / "new").create()


@pytest.mark.parametrize("name", ["thesis.tex", "recipe.toml", "vocabulary", "download.partial", "model.safetensors"])
def test_a_folder_with_other_things(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UserError, match=rf"holds other things than a run \({name}\); choose another --out"):
        RunFolder(tmp_path).create()
    assert (tmp_path / name).read_text() == "mine"


def test_what_a_run_leaves_that_was_killed_early_is_no_hindrance(run: RunFolder) -> None:
    with run.locked():
        run.vocabulary.mkdir()
        run.recipe.write_text("x")
        (run.path / "request.json.partial").write_text("x")
    RunFolder(run.path).create()


def test_force_removes_what_a_run_writes_and_nothing_else(run: RunFolder) -> None:
    _fill(run)
    mine = ["notes.txt", "other.partial", "recipe.toml.bak"]
    for name in mine:
        (run.path / name).write_text("mine")
    (run.path / "own.partial").mkdir()
    run.clear()
    assert sorted(file.name for file in run.path.iterdir()) == sorted([".lock", "own.partial", *mine])
    assert not run.exists()


def test_one_process_at_a_time(run: RunFolder) -> None:
    again = RunFolder(run.path).locked()
    with run.locked(), pytest.raises(UserError, match="another process is training there; wait for it"), again:
        pass
    run.create()
    with run.locked():  # and it is free again
        run.recipe.touch()
    assert run.lock.exists()


def test_a_file_system_without_locks_is_no_other_process(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(UserError, match=r"has no locks, .* \(No locks available\); choose another --out"), run.locked():
        pass


def test_the_picture_of_a_forecast_goes_with_the_run(run: RunFolder) -> None:
    _fill(run)
    run.forecast.write_text("<svg/>")
    run.clear()
    assert not run.forecast.exists()


def test_an_empty_folder_is_not_left_behind(run: RunFolder) -> None:
    with run.locked():
        pass
    assert not run.path.exists()


def test_metrics_until_a_step(run: RunFolder) -> None:
    for step in range(4):
        run.add_metrics({"step": step, "loss": step / 2})
    with run.metrics.open("a") as file:
        file.write('{"step": 4, "lo')  # cut off by a kill
    assert [line["step"] for line in run.read_metrics()] == [0, 1, 2, 3]
    assert [line["step"] for line in run.keep_metrics(2)] == [0, 1, 2]
    run.add_metrics({"step": 3})
    assert [json.loads(line)["step"] for line in run.metrics.read_text().splitlines()] == [0, 1, 2, 3]
    assert run.keep_metrics(-1) == []


@pytest.mark.parametrize("line", ["{broken", "[]", '{"loss": 1}', "\x00\x00"])
def test_a_line_of_metrics_that_is_none(run: RunFolder, line: str) -> None:
    run.metrics.write_text(f'{{"step": 1}}\n{line}\n{{"step": 2}}\n')
    with pytest.raises(UserError, match=r"metrics.jsonl:2: not a line of metrics; remove it"):
        run.read_metrics()


def test_metrics_on_a_full_disk(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run.metrics.symlink_to("/dev/full")
    with pytest.raises(FailedError, match=r"metrics.jsonl: cannot be written: the disk is full; name another"):
        run.add_metrics({"step": 1})
