"""The same command again goes on, changes nothing that is there, and refuses what does not belong to it."""

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from seqloom.jobs.corpora import build as corpora_module
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder, atomic
from seqloom.text import Vocabulary
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.whole_run import QUICK, run_again, run_of


def test_the_same_command_again_changes_nothing(pairs: Path) -> None:
    first = run_again()
    before = {file: file.read_bytes() for file in sorted((pairs / "run").rglob("*.safetensors"))}
    again = run_again()
    assert again.place.step == first.place.step
    assert again.scores == first.scores
    assert {file: file.read_bytes() for file in sorted((pairs / "run").rglob("*.safetensors"))} == before


def test_the_best_is_told_by_the_same_score_again(pairs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also where the metrics are gone."""

    def best() -> str:
        command = Command("r.toml", ("pairs.tsv",), out=Path("run"), changes=(*QUICK, "training.best=chrf"))
        train(command, view="lines")
        *_, last = capfd.readouterr().err.splitlines()
        return next(part for part in last.split("   ") if part.startswith("best by chrf at step"))

    first = best()
    assert first.startswith("best by chrf at step 3: exact 0.000, chrf ")
    assert best() == first
    (pairs / "run" / "metrics.jsonl").unlink()
    assert best() == first.replace("exact 0.000, ", "")


@pytest.mark.parametrize(
    "pieces", ['{ kind = "characters" }', '{ kind = "bpe", size = 60, dropout = 0.3 }'], ids=["plain", "dropout"]
)
def test_more_steps(pairs: Path, pieces: str) -> None:
    """With a rate that does not look ahead, as if they had been asked for from the start."""
    constant = {"training.schedule": '{ kind = "constant" }', "text.source": pieces}
    run_again(out="whole", set=constant | {"training.steps": 32})
    run_again(out="parts", set=constant | {"training.steps": 16})
    rest = run_again(out="parts", set=constant | {"training.steps": 32})
    assert rest.place.step == 32
    assert (pairs / "whole" / "metrics.jsonl").read_bytes() == (pairs / "parts" / "metrics.jsonl").read_bytes()
    assert (pairs / "whole" / "model.safetensors").read_bytes() == (pairs / "parts" / "model.safetensors").read_bytes()
    assert "steps = 32" in (pairs / "parts" / "recipe.toml").read_text()


def test_other_settings_and_other_data_are_refused(pairs: Path) -> None:
    run_again(set={"training.steps": 1})
    before = (pairs / "run" / "recipe.toml").read_bytes()
    with pytest.raises(UserError) as caught:
        run_again(set={"training.steps": 1, "model.width": 32})
    assert str(caught.value) == (
        "run: holds a run with other settings; name another --out, or start anew with --force\n"
        "  model.width: 16 there, 32 now"
    )
    with (pairs / "pairs.tsv").open("a") as file:
        file.write("new\twen\n")
    with pytest.raises(UserError, match=r"run: its data changed since it began \(pairs.tsv\); name another --out"):
        run_again(set={"training.steps": 1})
    assert (pairs / "run" / "recipe.toml").read_bytes() == before
    assert run_again(set={"training.steps": 1, "model.width": 32}, force=True).recipe.model.width == 32


def test_a_vocabulary_that_comes_out_otherwise(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache was emptied, and a library changed."""
    run_again(set={"training.steps": 1})
    real = Vocabulary.train
    monkeypatch.setenv("SEQLOOM_CACHE", str(pairs / "empty"))
    monkeypatch.setattr(
        Vocabulary, "train", classmethod(lambda cls, settings, texts: real(settings, [*texts, "a piece more: ß"]))
    )
    with pytest.raises(UserError, match="the run began with another vocabulary than is learnt from its data now"):
        run_again(set={"training.steps": 2})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("request.json", "request.json: cannot be read; --force starts the run anew"),
        ("recipe.toml", "recipe.toml"),
        ("request.json ", "request.json: cannot be read; --force starts the run anew"),
        ("metrics.jsonl", "metrics.jsonl:1: not a line of metrics; remove it"),
        ("vocabulary/shared.json", "shared.json: not a vocabulary"),
        ("state/step-00000001/state.json", "state.json: cannot be read"),
        ("state/step-00000001/weights.safetensors", "weights.safetensors: not a whole safetensors file"),
        ("model.safetensors", "model.safetensors: not a whole safetensors file"),
    ],
)
def test_a_file_of_the_run_that_is_not_whole(pairs: Path, name: str, message: str) -> None:
    run_again(set={"training.steps": 1})
    (pairs / "run" / name.strip()).write_bytes(b"{}" if name.endswith(" ") else b"{ nonsense\n")
    with pytest.raises(UserError, match=message):
        run_again(set={"training.steps": 1})
    run_again(set={"training.steps": 1}, force=True)


def test_a_disk_that_fills_up(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a checkpoint: the last good one stays, and the run goes on from it to the same end."""
    run_again(out="straight")
    real, calls = atomic.save_file, 0

    def full(tensors: Mapping[str, Tensor], path: Path, about: dict[str, str]) -> None:
        nonlocal calls
        calls += 1
        real(dict(tensors), path, about)
        if calls >= 9:
            path.write_bytes(path.read_bytes()[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "save_file", full)
    with pytest.raises(FailedError, match="cannot be written: the disk is full; what was saved before is still there"):
        run_again()
    monkeypatch.setattr(atomic, "save_file", real)
    left = RunFolder(pairs / "run").checkpoints.newest()
    assert left is not None
    assert 0 < left.numbers["place"]["step"] < 40
    run_again()
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (pairs / "straight" / name).read_bytes() == (pairs / "run" / name).read_bytes()


def test_the_second_run_reads_no_source(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = run_again(set={"training.steps": 1})
    monkeypatch.setattr(corpora_module, "read", lambda *given: pytest.fail("read again"))
    other = run_again(set={"training.steps": 1}, out="other")
    assert one.scores == other.scores


def test_the_held_out_are_the_same_through_another_path(pairs: Path) -> None:
    one = run_again(set={"training.steps": 1})
    (pairs / "deep").mkdir()
    (pairs / "deep" / "copy.tsv").write_bytes((pairs / "pairs.tsv").read_bytes())
    other = run_of("deep/copy.tsv", recipe="r.toml", out="other", set={"training.steps": 1})
    assert other.scores == one.scores


def test_what_was_asked_for_is_kept(pairs: Path) -> None:
    trained = run_again(set={"training.steps": 1})
    request = json.loads(trained.run.request.read_text())
    assert request["recipe"]["training"]["steps"] == 1
    assert list(request["data"]) == ["pairs.tsv"]
    assert trained.run.recipe.read_text().startswith("# seqloom ")


def test_force_keeps_the_old_run_until_the_new_one_can_begin(place: Path) -> None:
    """Faults of the data are told before anything is removed."""
    write_pairs(place / "pairs.tsv")
    command = Command(recipe=str(write_recipe(place / "r.toml")), data=("pairs.tsv",), out=Path("run"), changes=QUICK)
    train(command, view="none")
    before = (place / "run" / "model.safetensors").read_bytes()
    with (place / "pairs.tsv").open("a") as file:
        file.write("one column\n")
    with pytest.raises(UserError, match=r"pairs.tsv:301: "):
        train(replace(command, force=True), view="none")
    assert (place / "run" / "model.safetensors").read_bytes() == before


def test_a_file_that_was_moved(place: Path) -> None:
    recipe, pairs = str(write_recipe(place / "r.toml")), write_pairs(place / "pairs.tsv")
    command = Command(recipe=recipe, data=("pairs.tsv",), out=Path("run"), changes=QUICK)
    train(command, view="none")
    (place / "there").mkdir()
    pairs.rename(place / "there" / "moved.tsv")
    again = replace(command, data=("there/moved.tsv",), changes=("training.steps=5",))
    assert train(again, view="none").place.step == 5


def test_a_model_without_its_state_is_not_written_over(pairs: Path) -> None:
    run_again(set={"training.steps": 8})
    shutil.rmtree(pairs / "run" / "state")
    before = (pairs / "run" / "model.safetensors").read_bytes()
    with pytest.raises(UserError, match=r"run: is a finished run, but nothing is left in state/ to go on"):
        run_again(set={"training.steps": 8})
    assert (pairs / "run" / "model.safetensors").read_bytes() == before
    assert run_again(set={"training.steps": 8}, force=True).place.step == 8
