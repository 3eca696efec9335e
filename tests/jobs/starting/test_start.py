"""Beginning from another run: its weights, its vocabulary, and what does not fit."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.jobs.trained import Trained
from seqloom.settings import UserError, load
from seqloom.store import RunFolder, read_tensors
from tests.jobs.run import write_pairs, write_recipe

REWARD = """
best = "gleu"
schedule = { kind = "constant" }
reward = { samples = 4, likelihood = 0.1 }
"""


@pytest.fixture
def first(place: Path) -> Path:
    """A run on some pairs, and other pairs that lack a letter it knows."""
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "r.toml")
    write_recipe(place / "reward.toml", REWARD)
    others = (place / "pairs.tsv").read_text().splitlines()
    (place / "others.tsv").write_text("".join(f"{line}\n" for line in others if "h" not in line))
    _train("pairs.tsv", steps=12, out="first")
    return place


def _train(
    *data: str, steps: int, out: str, recipe: str | None = "r.toml", changes: tuple[str, ...] = (), **more: Any
) -> Trained:
    command = Command(recipe, data, out=Path(out), changes=(f"training.steps={steps}", *changes), **more)
    return train(command, view="none")


def _weights(out: str) -> dict[str, torch.Tensor]:
    return read_tensors(RunFolder(Path(out)).model)


def test_it_begins_with_the_weights_and_the_vocabulary(first: Path) -> None:
    trained = _train("others.tsv", steps=0, out="second", start=Path("first"))
    one, other = _weights("first"), _weights("second")
    assert one.keys() == other.keys()
    assert all(one[name].equal(other[name]) for name in one)
    assert (
        trained.corpora.task.codecs.fingerprint
        == _train("pairs.tsv", steps=12, out="first").corpora.task.codecs.fingerprint
    )
    assert len(_train("others.tsv", steps=0, out="alone").corpora.task.codecs.source) < len(
        trained.corpora.task.codecs.source
    )
    assert "| began from | first |" in Path("second/card.md").read_text()
    assert "# began from first: " in Path("second/recipe.toml").read_text()


def test_without_a_recipe_it_is_the_run_s(first: Path) -> None:
    trained = _train("others.tsv", steps=1, out="second", recipe=None, start=Path("first"))
    own = RunFolder(Path("first")).recipe
    assert trained.recipe.model == load(own, type(trained.recipe)).model
    assert trained.recipe.text == load(own, type(trained.recipe)).text


def test_a_rewarded_run_goes_on_to_the_same_bits(first: Path) -> None:
    """Stopped in the middle and begun again: what is drawn hangs on the step, not on what was drawn before."""
    begin = {"recipe": "reward.toml", "start": Path("first"), "changes": ("model.dropout=0.2",)}
    whole = _train("pairs.tsv", steps=6, out="whole", **begin)
    _train("pairs.tsv", steps=3, out="parts", **begin)
    _train("pairs.tsv", steps=6, out="parts", **begin)
    one, other = RunFolder(Path("whole")).checkpoints.newest(), RunFolder(Path("parts")).checkpoints.newest()
    assert one is not None
    assert other is not None
    for group in one.tensors:
        assert all(one.tensors[group][name].equal(other.tensors[group][name]) for name in one.tensors[group])
    steps = [line for line in whole.run.read_metrics() if "loss" in line]
    assert len(steps) == 6
    assert all(0 <= line["reward"] <= 1 for line in steps)
    assert [line["reward"] for line in steps] == [
        line["reward"] for line in RunFolder(Path("parts")).read_metrics() if "reward" in line
    ]
    assert "gleu" in whole.scores
    assert "GLEU: `" in whole.run.card.read_text()


def test_what_differs_is_told(first: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = ("training.steps=1", "model.dropout=0.3", "training.reward={}", "task.reverse=true")
    command = Command("r.toml", ("pairs.tsv",), out=Path("second"), start=Path("first"), changes=changes)
    train(command, view="lines")
    said = capsys.readouterr().err
    assert "begins from first, with its vocabulary" in said
    assert "model.dropout: 0.1 there, 0.3 from here on" in said
    assert "task.reverse: false there, true from here on" in said
    assert "training.best = 'loss': the likelihood chooses the model, and is not what is trained for" in said
    assert "reward 0." in said


def test_what_is_tied_may_be_untied(first: Path) -> None:
    """Each of the three tables begins from the one that they were."""
    changes = ("text.shared=false", "model.tie=none")
    _train("pairs.tsv", steps=0, out="second", start=Path("first"), changes=changes)
    (tied,) = (tensor for name, tensor in _weights("first").items() if name.endswith("weight_VD"))
    tables = [tensor for name, tensor in _weights("second").items() if name.endswith("weight_VD")]
    assert len(tables) == 3
    assert all(table.equal(tied) for table in tables)


def test_other_shapes(first: Path) -> None:
    with pytest.raises(
        UserError,
        match=r"--from first: its weights do not fit .*0% of the encoder fit .* there, .* here.*leave \[model",
    ):
        _train("pairs.tsv", steps=1, out="second", start=Path("first"), changes=("model.width=32",))
    assert not Path("second").exists()


def test_no_run(first: Path) -> None:
    with pytest.raises(UserError, match="--from nowhere: holds no run; name a folder that"):
        _train("pairs.tsv", steps=1, out="second", start=Path("nowhere"))
    Path("first/model.safetensors").unlink()
    with pytest.raises(UserError, match=r"--from first: has no model yet; begin .* \(no model.safetensors\)"):
        _train("pairs.tsv", steps=1, out="second", start=Path("first"))


def test_not_over_itself(first: Path) -> None:
    with pytest.raises(UserError, match="--from first: is --out too; name another --out"):
        _train("pairs.tsv", steps=1, out="first", start=Path("./first"))


@pytest.mark.parametrize("recipe", ["reward.toml", None])
def test_it_goes_on_without_the_run_that_it_began_from(first: Path, recipe: str | None) -> None:
    """Its weights, vocabulary and settings are its own by then."""
    changes = "model.dropout=0.2", "training.schedule.kind=constant"
    begin = {"recipe": recipe, "start": Path("first"), "changes": changes}
    _train("pairs.tsv", steps=6, out="whole", **begin)
    _train("pairs.tsv", steps=3, out="parts", **begin)
    shutil.rmtree("first")
    assert _train("pairs.tsv", steps=6, out="parts", **begin).place.step == 6
    assert all(_weights("parts")[name].equal(tensor) for name, tensor in _weights("whole").items())
    with pytest.raises(UserError, match="--from first: holds no run"):
        _train("pairs.tsv", steps=6, out="new", **begin)
    with pytest.raises(UserError, match="--from first: holds no run"):
        _train("pairs.tsv", steps=6, out="parts", force=True, **begin)


def test_the_same_command_goes_on_and_another_does_not(first: Path) -> None:
    _train("pairs.tsv", steps=1, out="second", start=Path("first"))
    with pytest.raises(UserError, match="second: holds a run that began from first: --from first; or name another"):
        _train("pairs.tsv", steps=2, out="second")
    with pytest.raises(UserError, match="first: holds a run that began from no other; leave --from out"):
        _train("pairs.tsv", steps=13, out="first", start=Path("second"))
    shutil.copytree("second", "third")
    with pytest.raises(UserError, match=r"second: holds a run that began from other weights \(first, as it was then\)"):
        _train("pairs.tsv", steps=2, out="second", start=Path("third"))
