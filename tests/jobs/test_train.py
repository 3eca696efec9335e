"""Whole runs, in this process: each shape without a recipe, and what a run leaves."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from seqloom.jobs import train as training_job
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.settings import UserError
from seqloom.training.loop import Loop, Setup
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.shapes import write_conllu, write_labels, write_sentences, write_text
from tests.jobs.whole_run import QUICK, run_again, run_of


def test_a_score_that_words_cannot_have(pairs: Path) -> None:
    """BLEU of one-word targets is always 0; nothing is left behind, so that the next command can be another."""
    with pytest.raises(
        UserError, match=r"of the 200 validation examples .*\(training.answered\) none has a target of 4 to"
    ):
        run_again(set={"training.best": "bleu"})
    assert not Path("run").exists()


def test_bleu_may_choose_the_best(place: Path) -> None:
    write_sentences(place / "a.tsv")
    assert "bleu" in run_of("a.tsv", set={"training.steps": 2, "training.best": "bleu"}).scores


def test_what_is_answered_says_whether_bleu_may_choose(place: Path) -> None:
    """One target is long enough, and not among the first: it counts if it is answered."""
    rows = [f"{letter} {other}\t{other} {letter}" for letter in "abcdefgh" for other in "ijklmnop"]
    (place / "a.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (place / "b.tsv").write_text("\n".join([*rows[:9], "a b c d e\te d c b a"]) + "\n", encoding="utf-8")
    write_recipe(place / "r.toml")
    for answered, fine in ((1000, True), (1, False)):
        changes = ("training.steps=2", "training.best=bleu", f"training.answered={answered}")
        command = Command("r.toml", ("a.tsv",), valid=("b.tsv",), out=Path(f"run{answered}"), changes=changes)
        if fine:
            assert "bleu" in train(command, view="none").scores
            continue
        with pytest.raises(UserError, match=r"of the 1 validation examples .*\(training.answered\)"):
            train(command, view="none")


@pytest.mark.parametrize(
    ("write", "name", "scores"),
    [
        (write_sentences, "a.tsv", {"loss", "exact", "bleu", "chrf"}),
        (write_labels, "a.tsv", {"loss", "accuracy"}),
        (write_text, "a.txt", {"loss", "perplexity"}),
        (write_conllu, "a.conllu", {"loss", "accuracy", "exact"}),
    ],
    ids=["pairs", "classes", "text", "tags"],
)
def test_each_shape_without_a_recipe(place: Path, write: Callable[[Path], Path], name: str, scores: set[str]) -> None:
    write(place / name)
    threads = threading.active_count()
    trained = run_of(name, test=(name,), set={"training.steps": 6})
    assert trained.place.step == 6
    assert trained.scores.keys() == trained.test_scores.keys() == scores
    first = next(line for line in trained.run.read_metrics() if "valid.loss" in line)
    assert trained.scores["loss"] <= first["valid.loss"]
    assert {file.name for file in trained.run.path.iterdir()} >= {
        "recipe.toml",
        "request.json",
        "model.safetensors",
        "vocabulary",
        "metrics.jsonl",
        "curves.svg",
        "card.md",
        "state",
    }
    assert threading.active_count() == threads
    # what the recipe says of itself is a whole recipe: the same again, by name
    assert run_of(recipe=str(trained.run.recipe), out="other").scores == trained.scores


def test_bytes_as_running_text(place: Path) -> None:
    """Bytes are not learnt from the text, but how much of it there is must be known."""
    write_text(place / "a.txt")
    trained = run_of("a.txt", set={"training.steps": 1, "text.source.kind": "bytes"})
    assert (trained.corpora.examples, len(trained.corpora.valid[0])) == (191, 9)  # by characters, in whole lines


def test_the_best_by_another_score(pairs: Path) -> None:
    trained = run_again(set={"training.best": "exact", "training.steps": 16})
    values = {line["step"]: line["valid.exact"] for line in trained.run.read_metrics() if "valid.exact" in line}
    assert trained.place.best == max(values.values())
    assert values[trained.place.best_step] == trained.scores["exact"]


def test_the_scores_of_a_mean_are_its_own(pairs: Path) -> None:
    """By a score that is 0 in so few steps, so that no model is better than the mean."""
    trained = run_again(set={"training.average": 2, "training.steps": 24, "training.best": "exact"})
    assert trained.place.best == 0
    validated = [line["valid.loss"] for line in trained.run.read_metrics() if "valid.loss" in line]
    assert trained.scores["loss"] not in validated
    kept = [load_file(file) for file in sorted(trained.run.kept.iterdir())]
    assert len(kept) == 2
    for name, tensor in load_file(trained.run.model).items():
        torch.testing.assert_close(tensor, (kept[0][name] + kept[1][name]) / 2)


def test_a_device_that_is_not_there(pairs: Path) -> None:
    with pytest.raises(UserError, match=r"training.device = 'nonsense' cannot be used: "):
        run_again(set={"training.device": "nonsense"})


def test_word_vectors_that_the_recipe_names(pairs: Path) -> None:
    (pairs / "vectors.txt").write_text("a " + " ".join(["7.5"] * 16) + "\n")
    trained = run_again(set={"model.input": '{ kind = "tokens", vectors = "vectors.txt" }', "training.steps": 0})
    weights = load_file(trained.run.model)["source.embedding.weight_VD"]
    token = trained.corpora.task.codecs.source.encode(["a"])[0][0]
    assert weights[token].abs().min() > 1


@pytest.mark.parametrize("width", [30, 96, 128, 200, 256])
def test_a_width_without_a_recipe(place: Path, width: int) -> None:
    write_pairs(place / "pairs.tsv")
    changes = (*QUICK, f"model.width={width}", "model.depth=1")
    trained = train(Command(data=("pairs.tsv",), out=Path("run"), changes=changes), view="none")
    assert trained.recipe.model.width == width


def test_what_is_advised_can_be_done(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    command = Command(recipe=str(write_recipe(place / "r.toml")), data=("pairs.tsv",), out=Path("run"))
    train(replace(command, changes=("training.steps=3",)), view="none")
    advised = ("training.steps=5", "training.optimiser.rate=1e-5", "training.spike=0", "training.clip=0.5")
    trained = train(replace(command, changes=advised), view="none")
    assert trained.place.step == 5
    assert trained.run.read_metrics()[-2]["rate"] <= 1e-5


@pytest.mark.parametrize(("every", "punctual"), [("8", True), ("auto", False)])
def test_validations_that_the_recipe_asks_for_are_made(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, every: str, punctual: bool
) -> None:
    heard = _setups(monkeypatch)
    run_again(set={"training.steps": 1, "training.validate_every": every})
    assert [setup.punctual for setup in heard] == [punctual]


@pytest.mark.parametrize(("least", "tells"), [(1, True), (500, False)])
def test_few_labels_do_not_tell_whether_a_mean_is_better(
    place: Path, monkeypatch: pytest.MonkeyPatch, least: int, tells: bool
) -> None:
    heard = _setups(monkeypatch)
    monkeypatch.setattr(training_job, "TELLING", least)
    (place / "a.tsv").write_text("".join(f"word {n}\t{'odd' if n % 2 else 'even'}\n" for n in range(60)))
    run_of("a.tsv", set={"task.kind": "classify", "training.steps": 1})
    assert [setup.tells for setup in heard] == [tells]


def _setups(monkeypatch: pytest.MonkeyPatch) -> list[Setup]:
    heard, real = list[Setup](), Loop

    def loop(setup: Setup, *others: object) -> Loop:
        heard.append(setup)
        return real(setup, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(training_job, "Loop", loop)
    return heard


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (None, "the mean of those of the last 2 validations (training.average) is worse than the model of step 4, "),
        ({"loss": 1.0}, "the model is the mean of those of the last 2 validations (training.average): the scores "),
    ],
)
def test_which_of_mean_and_best_it_is_is_told(scores: dict[str, float] | None, told: str) -> None:
    notes = list[str]()
    loop: Any = SimpleNamespace(choose=lambda: scores, place=SimpleNamespace(kept=(2, 4), best_step=4))
    telling: Any = SimpleNamespace(note=notes.append)
    assert training_job._of_mean(loop, telling) == scores
    assert len(notes) == 1
    assert notes[0].startswith(told)
