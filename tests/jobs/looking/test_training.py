"""What a run keeps for the studio: of the right sentence, with the model's own numbers, at no cost to the run."""

from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking import training
from seqloom.jobs.looking.progress import examples
from seqloom.store import RunFolder, read_tensors
from tests.jobs.asked_runs import Runs
from tests.jobs.run import write_pairs, write_recipe


@pytest.mark.parametrize("name", ["pairs", "joined", "text", "documents"])
def test_the_last_look_is_at_the_model(runs: Runs, name: str) -> None:
    run = RunFolder(runs[name])
    about, (*_, last) = run.looks.read_about(), run.looks.files()
    sentence = about["sentence"]
    look = Look(seqloom.load(run.path), LookRequest(sentence["source"], sentence["target"]))
    layers = look.attention().layers
    (layer,) = [one for one in layers if one.title == about["layer"]]
    assert layer is ([one for one in layers if one.kind == "cross"] or list(layers))[-1]
    assert torch.allclose(last.read(), layer.weights, atol=1e-6)
    assert [place["text"] for place in about["rows"]] == [place.text for place in layer.rows]
    assert [place["text"] for place in about["columns"]] == [place.text for place in layer.columns]


@pytest.mark.parametrize("name", ["pairs", "sentences", "text", "tags", "classes", "masked"])
def test_inputs_to_try_can_be_asked(runs: Runs, name: str) -> None:
    kept = examples(RunFolder(runs[name]))
    assert 1 < len(kept) <= training.EXAMPLES
    assert len(set(kept)) == len(kept)
    model = seqloom.load(runs[name])
    assert len(model.predict(kept)) == len(kept)
    assert all(
        Look(model, LookRequest(text)).answer().source for text in kept if name in ("pairs", "sentences", "text")
    )


def trained(folder: Path, monkeypatch: pytest.MonkeyPatch, out: str, changes: tuple[str, ...] = ()) -> RunFolder:
    monkeypatch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
    recipe = write_recipe(folder / "recipe.toml")
    data = write_pairs(folder / "pairs.tsv")
    seqloom.train(recipe, data=data, out=folder / out, view="none", changes=list(changes))
    return RunFolder(folder / out)


def test_looking_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = trained(tmp_path, monkeypatch, "seen")
    assert [file.step for file in seen.looks.files()] == [8, 16, 24, 32, 40]
    monkeypatch.setattr("seqloom.jobs.train.training_looks", lambda *_: None)
    unseen = trained(tmp_path, monkeypatch, "unseen")
    one, other = read_tensors(seen.model), read_tensors(unseen.model)
    assert all(torch.equal(one[name], other[name]) for name in other)
    assert seen.metrics.read_bytes() == unseen.metrics.read_bytes()


def test_a_look_that_fails_is_no_failure_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("too dark")

    monkeypatch.setattr(Look, "attention", fail)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    recipe, data = write_recipe(tmp_path / "recipe.toml"), write_pairs(tmp_path / "pairs.tsv")
    seqloom.train(recipe, data=data, out=tmp_path / "run", view="lines", changes=["training.steps=8"])
    assert "attention is not kept while it trains: ValueError: too dark" in capsys.readouterr().err
    assert RunFolder(tmp_path / "run").looks.files() == []


def test_force_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(tmp_path, monkeypatch, "run")
    stray = run.looks.path / "look-000077-step-00000777.safetensors"
    stray.write_bytes(b"old")
    seqloom.train(tmp_path / "recipe.toml", data=tmp_path / "pairs.tsv", out=run.path, view="none", force=True)
    assert not stray.exists()
