"""A run folder that is opened: what is missing, damaged or of another run is named."""

import errno
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

import seqloom
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.opened import still_training
from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.tag import TagTask
from tests.jobs.asked_runs import Runs


@pytest.fixture
def copy(runs: Runs, tmp_path: Path) -> Path:
    return Path(shutil.copytree(runs["pairs"], tmp_path / "runs" / "pairs"))


def refused(path: Path, match: str) -> None:
    with pytest.raises(UserError, match=match):
        seqloom.load(path)


def test_it_needs_no_data(copy: Path) -> None:
    text = (copy / "recipe.toml").read_text()
    (copy / "recipe.toml").write_text(text.replace("pairs.tsv", "gone.tsv"))
    for name in ("state", "request.json", "metrics.jsonl", "card.md", "curves.svg"):
        shutil.rmtree(copy / name) if (copy / name).is_dir() else (copy / name).unlink(missing_ok=True)
    assert isinstance(seqloom.load(copy).predict("abc"), Answer)


def test_no_run(copy: Path, tmp_path: Path) -> None:
    refused(tmp_path / "runs" / "pair", r"runs/pair: there is no such run; did you mean .*runs/pairs\?")
    (tmp_path / "pair.txt").touch()
    refused(tmp_path / "pair", r"pair: there is no such run; did you mean .*runs/pairs\?")
    refused(tmp_path / "nowhere" / "x", "there is no such run; `seqloom train` makes one")
    refused(tmp_path, r"holds no run \(no recipe\.toml\)")
    refused(copy / "card.md", r"card\.md: is a file; name the folder of a run")
    with pytest.raises(UserError, match="no run is named"):
        seqloom.load([])


def test_a_run_that_was_stopped_early(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "card.md").unlink()
    refused(copy, r"model\.safetensors: no such file: the run was stopped before its first validation; the command")


def test_a_run_that_is_still_training(copy: Path) -> None:
    run = RunFolder(copy)
    assert not list(still_training(seqloom.load(copy).opened))
    with run.locked():
        notes = list(still_training(seqloom.load(copy).opened))
        assert notes == [f"{copy}: still training: the best model so far"]
        run.card.unlink()
        run.model.unlink()
        refused(copy, "runs/pairs: is still training, and has no model before its first validation; ask again later")
        shutil.rmtree(run.vocabulary)
        run.recipe.unlink()
        refused(copy, "is still training")


@pytest.mark.parametrize("name", ["recipe.toml", "vocabulary/shared.json", "model.safetensors"])
def test_a_file_that_may_not_be_read(copy: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def forbidden(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any, *more: Any, **named: Any) -> Any:
            if str(path) == str(copy / name):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return real(path, *more, **named)

        return called

    if name == "model.safetensors":
        monkeypatch.setattr(Path, "open", forbidden(Path.open))
    else:
        monkeypatch.setattr(os, "stat", forbidden(os.stat))
    refused(copy, rf"{name}: cannot be read: no permission; see who may read it")


@pytest.mark.parametrize("name", ["model.safetensors", "recipe.toml", "vocabulary/shared.json", "vocabulary"])
def test_a_file_is_missing(copy: Path, name: str) -> None:
    file = copy / name
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    refused(copy, rf"{'vocabulary/source.json' if 'shared' in name else name}: no such (file|folder)")


@pytest.mark.parametrize("name", ["model.safetensors", "recipe.toml", "vocabulary/shared.json"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_file_is_cut_off(copy: Path, name: str, share: float) -> None:
    file = copy / name
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    refused(copy, name.replace("shared", r"shared(\.settings)?"))


def test_a_recipe_of_another_model(copy: Path) -> None:
    text = (copy / "recipe.toml").read_text()
    assert "width = 16" in text
    (copy / "recipe.toml").write_text(text.replace("width = 16", "width = 32"))
    refused(copy, r"model\.safetensors: does not belong to recipe\.toml beside it \(.* has the shape \[")
    (copy / "recipe.toml").write_text(text.replace("width = 16", "width = sixteen"))
    refused(copy, r"recipe\.toml:\d+: ")
    (copy / "recipe.toml").write_text(text.replace('kind = "translate"', 'kind = "classify"'))
    refused(copy, r"recipe\.toml:\d+: .*has no setting .reverse.")


def test_weights_with_other_names(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    name = next(iter(tensors))
    save_file({("x" if key == name else key): value for key, value in tensors.items()}, copy / "model.safetensors")
    refused(copy, r"model\.safetensors: does not belong to .*missing: .*not known: \['x'\]")


def test_damaged_weights(copy: Path) -> None:
    """Some bytes in the middle: names and shapes are as they should be."""
    file = copy / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    refused(copy, r"model\.safetensors: is damaged: .*; put it back as it was saved, or train anew with --force")


def spoilt(run: Path, value: float) -> Path:
    """As old runs are saved, without a digest."""
    tensors = load_file(run / "model.safetensors")
    for tensor in tensors.values():
        tensor.view(-1)[0] = value
    save_file(tensors, run / "model.safetensors")
    return run


def test_weights_that_are_no_numbers(copy: Path) -> None:
    refused(spoilt(copy, math.nan), r"model\.safetensors: \S+ holds what is no number \(NaN\); put it back")


@pytest.mark.parametrize("name", ["pairs", "text", "tags", "classes", "masked"])
def test_scores_that_are_no_numbers(runs: Runs, tmp_path: Path, name: str) -> None:
    run = Path(shutil.copytree(runs[name], tmp_path / name))
    model = seqloom.load(spoilt(run, math.inf))
    text, target = {"masked": ("a [MASK] b", None), "text": ("a b", "c")}.get(name, ("a", "a"))
    message = rf"{name}/model\.safetensors: the model's scores are no numbers \(NaN\): its weights are damaged"
    for beam in (1, 3) if name == "pairs" else (None,):
        with pytest.raises(FailedError, match=message):
            model.predict(text, beam=beam)
    if name == "pairs":
        with pytest.raises(FailedError, match=message):
            model.predict(text, sample=True)
    target = model.task.labels.names[0] if isinstance(model.task, TagTask | ClassifyTask) else target
    with pytest.raises(FailedError, match=message):
        model.score(text, target)


def test_a_vocabulary_of_another_task(copy: Path, runs: Runs) -> None:
    shutil.rmtree(copy / "vocabulary")
    shutil.copytree(runs["classes"] / "vocabulary", copy / "vocabulary")
    refused(copy, "vocabulary: is not of a run that does translate")


def test_a_device_that_is_not_there(runs: Runs) -> None:
    with pytest.raises(UserError, match="--device = 'nonsense' cannot be used"):
        seqloom.load(runs["pairs"], device="nonsense")


# -- asking


def test_what_is_said_of_a_broken_vocabulary_file(copy: Path) -> None:
    file = copy / "vocabulary" / "shared.settings.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"fingerprint": "0"}))
    refused(copy, "one of the two was changed")


# -- choosing and mending


def test_a_shared_table_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    data, recipe = tmp_path / "pairs.tsv", tmp_path / "tied.toml"
    data.write_text("".join(f"{'ab' * n}\t{'ba' * n}\n" for n in range(1, 30)))
    recipe.write_text(
        '[task]\nkind = "translate"\n[text]\nsource = { kind = "characters" }\nshared = true\n'
        '[model]\nfamily = "encoder-decoder"\nwidth = 16\ndepth = 1\ntie = "all"\n'
        "[training]\nsteps = 1\nbatch = 200\n"
    )
    seqloom.train(recipe, data=data, out=tmp_path / "run", view="none")
    saved = load_file(tmp_path / "run" / "model.safetensors")
    (opened,) = seqloom.load(tmp_path / "run").opened
    assert opened.parameters == sum(part.numel() for part in saved.values())
