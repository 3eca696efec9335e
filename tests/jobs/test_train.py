"""Whole runs, in this process: each shape without a recipe, going on, limits, and what a run leaves."""

import errno
import json
import os
import random
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from seqloom.jobs import corpora as corpora_module
from seqloom.jobs import decide
from seqloom.jobs.asked import Budget, Command
from seqloom.jobs.check import check
from seqloom.jobs.plan import amount
from seqloom.jobs.train import Trained, train
from seqloom.models import model_cost
from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder, atomic
from seqloom.text import Vocabulary
from seqloom.training import peak_memory
from seqloom.training.loop import Loop
from seqloom.training.place import Place
from tests.jobs.run import PAIRS, write_pairs, write_recipe
from tests.jobs.shapes import write_conllu, write_labels, write_sentences, write_text

QUICK = ("training.steps=3",)


def _train(*data: str, recipe: str | None = None, out: str = "run", **more: Any) -> Trained:
    changes = tuple(f"{name.replace('__', '.')}={value}" for name, value in more.pop("set", {}).items())
    return train(Command(recipe, data, out=Path(out), changes=changes, **more), view="none")


@pytest.fixture
def pairs(place: Path) -> Path:
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "r.toml")
    return place


def _again(**more: Any) -> Trained:
    return _train("pairs.tsv", recipe="r.toml", **more)


def test_a_score_that_words_cannot_have(pairs: Path) -> None:
    """BLEU of one-word targets is always 0; nothing is left behind, so that the next command can be another."""
    with pytest.raises(UserError, match=r"training.best = 'bleu': no validation example has a target of 4 tokens"):
        _again(set={"training.best": "bleu"})
    assert not Path("run").exists()


def test_bleu_may_choose_the_best(place: Path) -> None:
    write_sentences(place / "a.tsv")
    assert "bleu" in _train("a.tsv", set={"training.steps": 2, "training.best": "bleu"}).scores


# -- without a recipe


@pytest.mark.parametrize(
    ("write", "name", "scores"),
    [
        (write_sentences, "a.tsv", {"loss", "exact", "bleu", "chrf"}),
        (write_labels, "a.tsv", {"loss", "accuracy"}),
        (write_text, "a.txt", {"loss", "perplexity"}),
        (write_conllu, "a.conllu", {"loss", "accuracy"}),
    ],
    ids=["pairs", "classes", "text", "tags"],
)
def test_each_shape_without_a_recipe(place: Path, write: Callable[[Path], Path], name: str, scores: set[str]) -> None:
    write(place / name)
    threads = threading.active_count()
    trained = _train(name, test=(name,), set={"training.steps": 6})
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
    assert _train(recipe=str(trained.run.recipe), out="other").scores == trained.scores


def test_bytes_as_running_text(place: Path) -> None:
    """Bytes are not learnt from the text, but how much of it there is must be known."""
    write_text(place / "a.txt")
    trained = _train("a.txt", set={"training.steps": 1, "text.source.kind": "bytes"})
    assert (trained.corpora.examples, len(trained.corpora.valid[0])) == (191, 9)  # by characters, in whole lines


# -- limits


def test_minutes(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    began = time.monotonic()
    trained = _train("pairs.tsv", minutes=0.1)
    took = time.monotonic() - began
    assert took < 6 + 4
    rates = [line["rate"] for line in trained.run.read_metrics() if "rate" in line]
    assert len(rates) > 3
    assert trained.place.ended == "the time is over"
    assert rates[-1] < max(rates) / 2  # it was annealed


def test_minutes_count_from_when_the_command_began(pairs: Path) -> None:
    began = time.monotonic() - 100
    command = Command("r.toml", ("pairs.tsv",), out=Path("run"), minutes=1.0, changes=("training.steps=100000",))
    assert train(command, view="none", began=began).place.ended == "the time is over"
    assert time.monotonic() - began < 110


def test_memory_of_what_was_tried_out_before_is_forgotten(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten, seen, steps = pairs / "forgotten", list[bool](), Loop.train
    monkeypatch.setattr(peak_memory, "FORGET", forgotten)

    def from_the_first_step_on(loop: Loop) -> Place:
        seen.append(forgotten.exists())
        return steps(loop)

    monkeypatch.setattr(Loop, "train", from_the_first_step_on)
    _again(set={"training.steps": 3})
    assert seen == [True]


def test_no_steps(pairs: Path) -> None:
    trained = _again(set={"training.steps": 0})
    assert trained.place.step == 0
    assert (pairs / "run" / "model.safetensors").exists()


def test_epochs(pairs: Path) -> None:
    trained = _train(
        "pairs.tsv", recipe=str(write_recipe(pairs / "e.toml", text=PAIRS.replace("steps = 40", "epochs = 2.0")))
    )
    place, data = trained.place, trained.corpora
    assert isinstance(trained.recipe.training.batch, int)
    order = data.order(trained.recipe.training.batch, trained.recipe.training.seed)
    assert place.step == sum(1 for epoch in range(2) for _ in order.epoch(epoch))
    assert (place.epochs, place.ended) == (2.0, "all epochs are done")


def test_the_best_by_another_score(pairs: Path) -> None:
    trained = _again(set={"training.best": "exact", "training.steps": 16})
    values = {line["step"]: line["valid.exact"] for line in trained.run.read_metrics() if "valid.exact" in line}
    assert trained.place.best == max(values.values())
    assert values[trained.place.best_step] == trained.scores["exact"]


def test_the_scores_of_a_mean_are_its_own(pairs: Path) -> None:
    trained = _again(set={"training.average": 2, "training.steps": 24})
    validated = [line["valid.loss"] for line in trained.run.read_metrics() if "valid.loss" in line]
    assert trained.scores["loss"] not in validated
    kept = [load_file(file) for file in sorted(trained.run.kept.iterdir())]
    assert len(kept) == 2
    for name, tensor in load_file(trained.run.model).items():
        torch.testing.assert_close(tensor, (kept[0][name] + kept[1][name]) / 2)


# -- going on


def test_the_same_command_again_changes_nothing(pairs: Path) -> None:
    first = _again()
    before = {file: file.read_bytes() for file in sorted((pairs / "run").rglob("*.safetensors"))}
    again = _again()
    assert again.place.step == first.place.step
    assert again.scores == first.scores
    assert {file: file.read_bytes() for file in sorted((pairs / "run").rglob("*.safetensors"))} == before


@pytest.mark.parametrize(
    "pieces", ['{ kind = "characters" }', '{ kind = "bpe", size = 60, dropout = 0.3 }'], ids=["plain", "dropout"]
)
def test_more_steps(pairs: Path, pieces: str) -> None:
    """With a rate that does not look ahead, as if they had been asked for from the start."""
    constant = {"training.schedule": '{ kind = "constant" }', "text.source": pieces}
    _again(out="whole", set=constant | {"training.steps": 32})
    _again(out="parts", set=constant | {"training.steps": 16})
    rest = _again(out="parts", set=constant | {"training.steps": 32})
    assert rest.place.step == 32
    assert (pairs / "whole" / "metrics.jsonl").read_bytes() == (pairs / "parts" / "metrics.jsonl").read_bytes()
    assert (pairs / "whole" / "model.safetensors").read_bytes() == (pairs / "parts" / "model.safetensors").read_bytes()
    assert "steps = 32" in (pairs / "parts" / "recipe.toml").read_text()


def test_other_settings_and_other_data_are_refused(pairs: Path) -> None:
    _again(set={"training.steps": 1})
    before = (pairs / "run" / "recipe.toml").read_bytes()
    with pytest.raises(UserError) as caught:
        _again(set={"training.steps": 1, "model.width": 32})
    assert str(caught.value) == (
        "run: holds a run with other settings; name another --out, or start anew with --force\n"
        "  model.width: 16 there, 32 now"
    )
    with (pairs / "pairs.tsv").open("a") as file:
        file.write("new\twen\n")
    with pytest.raises(UserError, match=r"run: its data changed since it began \(pairs.tsv\); name another --out"):
        _again(set={"training.steps": 1})
    assert (pairs / "run" / "recipe.toml").read_bytes() == before
    assert _again(set={"training.steps": 1, "model.width": 32}, force=True).recipe.model.width == 32


def test_a_vocabulary_that_comes_out_otherwise(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache was emptied, and a library changed."""
    _again(set={"training.steps": 1})
    real = Vocabulary.train
    monkeypatch.setenv("SEQLOOM_CACHE", str(pairs / "empty"))
    monkeypatch.setattr(
        Vocabulary, "train", classmethod(lambda cls, settings, texts: real(settings, [*texts, "a piece more: ß"]))
    )
    with pytest.raises(UserError, match="the run began with another vocabulary than is learnt from its data now"):
        _again(set={"training.steps": 2})


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
    _again(set={"training.steps": 1})
    (pairs / "run" / name.strip()).write_bytes(b"{}" if name.endswith(" ") else b"{ nonsense\n")
    with pytest.raises(UserError, match=message):
        _again(set={"training.steps": 1})
    _again(set={"training.steps": 1}, force=True)


def test_a_disk_that_fills_up(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a checkpoint: the last good one stays, and the run goes on from it to the same end."""
    _again(out="straight")
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
        _again()
    monkeypatch.setattr(atomic, "save_file", real)
    left = RunFolder(pairs / "run").checkpoints.newest()
    assert left is not None
    assert 0 < left.numbers["place"]["step"] < 40
    _again()
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (pairs / "straight" / name).read_bytes() == (pairs / "run" / name).read_bytes()


def test_the_second_run_reads_no_source(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = _again(set={"training.steps": 1})
    monkeypatch.setattr(corpora_module, "read", lambda *given: pytest.fail("read again"))
    other = _again(set={"training.steps": 1}, out="other")
    assert one.scores == other.scores


# -- data that is left out


def test_learned_positions_bound_examples_and_answers(pairs: Path) -> None:
    changes = {"model.positions": '{ kind = "learned", length = 5 }', "training.steps": 2}
    trained = _again(set=changes)
    assert any("longer than 4 tokens (model.positions.length)" in note for note in trained.corpora.notes)
    assert trained.corpora.train[0].cache.totals.longest["source"] == 4


@pytest.mark.parametrize(("how", "done"), [("skip", "left out"), ("truncate", "cut")])
def test_too_long_documents_are_counted(place: Path, how: str, done: str) -> None:
    write_text(place / "a.txt")
    changes = {"task.lines": "documents", "task.context": 20, "data.too_long": how, "training.steps": 1}
    trained = _train("a.txt", set=changes)
    (note,) = trained.corpora.notes
    assert note.endswith(f" {done}: longer than 20 tokens (task.context)")
    assert note in (trained.run.card).read_text()


def test_nothing_left_to_train_or_test_on(pairs: Path) -> None:
    with pytest.raises(UserError, match=r"pairs.tsv: no example is left to train on\n.*300 left out: longer than 1 "):
        _again(set={"data.longest": 1})
    (pairs / "long.tsv").write_text("abcabcabc\tabcabcabc\n")
    with pytest.raises(UserError, match=r"long.tsv: no example is left to test on\n"):
        _again(test=("long.tsv",), set={"data.longest": 8})


@pytest.mark.parametrize("count", [2, 5, 30])
def test_few_examples_are_enough(place: Path, count: int) -> None:
    (place / "few.tsv").write_text("".join(f"{chr(97 + n % 26) * (1 + n // 26)}\tb\n" for n in range(count)))
    write_recipe(place / "r.toml")
    trained = _train("few.tsv", recipe="r.toml", set={"training.steps": 1})
    assert sum(map(len, trained.corpora.valid)) >= 1
    assert trained.corpora.examples + sum(map(len, trained.corpora.valid)) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", r"few.tsv: too few examples \(1\) to keep some .*: --valid FILE"),
        ("a\tb\n" * 500, "few.tsv: all 500 examples have the same source, .*; give a file of their own: --valid FILE"),
    ],
)
def test_nothing_to_validate_on(place: Path, text: str, message: str) -> None:
    (place / "few.tsv").write_text(text)
    write_recipe(place / "r.toml")
    with pytest.raises(UserError, match=message):
        _train("few.tsv", recipe="r.toml")
    (found,) = [one.title for one in check(Command("r.toml", ("few.tsv",))).report.findings if one.severity == "fault"]
    assert re.match(message, found)


def test_a_text_of_one_line(place: Path) -> None:
    words = random.Random(1).choices(["to", "be", "or", "not"], k=20_000)
    (place / "a.txt").write_text(" ".join(words))
    trained = _train("a.txt", set={"training.steps": 1, "training.batch": 500})
    tokens = [sum(cache.totals.tokens["target"] for cache in trained.corpora.valid), trained.corpora.tokens("target")]
    assert tokens[0] == pytest.approx(0.05 * sum(tokens), rel=0.01)


def test_a_text_of_a_few_letters(place: Path) -> None:
    (place / "a.txt").write_text("ab")
    with pytest.raises(UserError, match=r"a.txt: too short a text to keep some of it for validation; give more"):
        _train("a.txt", set={"training.steps": 1})


def test_a_validation_text_without_a_goal(place: Path) -> None:
    write_text(place / "a.txt")
    (place / "v.txt").write_text("\n")
    with pytest.raises(UserError, match=r"^v.txt: no example is left to validate on$"):
        _train("a.txt", valid=("v.txt",), set={"training.steps": 1})


# -- labels


def test_labels_that_only_validation_has(place: Path) -> None:
    (place / "a.tsv").write_text("good one\tpos\nbad one\tneg\n" * 20)
    (place / "v.tsv").write_text("good one\tpos\n" + "so so\tother\n" * 3)
    changes = {"task.kind": "classify", "training.steps": 1}
    trained = _train("a.tsv", valid=("v.tsv",), set=changes)
    assert "v.tsv: 3 labels that training never sees (other): counted as wrong" in trained.corpora.notes
    assert trained.scores["accuracy"] in (0.0, 25.0)
    (place / "w.tsv").write_text("so so\tother\n" * 3)
    with pytest.raises(UserError, match=r"w.tsv: nothing to validate on: training sees none of its labels \(other\)"):
        _train("a.tsv", valid=("w.tsv",), set=changes, out="other")


def test_a_corpus_of_which_nothing_is_left_beside_another(pairs: Path) -> None:
    (pairs / "long.tsv").write_text("abcabcabc\tabcabcabc\n" * 3)
    trained = _train(
        "pairs.tsv",
        "long.tsv",
        recipe="r.toml",
        set={"data.longest": 8, "training.batch": '"auto"', "training.steps": 1},
    )
    assert [len(part.cache) for part in trained.corpora.train] == [len(trained.corpora.train[0].cache), 0]


def test_the_held_out_are_the_same_through_another_path(pairs: Path) -> None:
    one = _again(set={"training.steps": 1})
    (pairs / "deep").mkdir()
    (pairs / "deep" / "copy.tsv").write_bytes((pairs / "pairs.tsv").read_bytes())
    other = _train("deep/copy.tsv", recipe="r.toml", out="other", set={"training.steps": 1})
    assert other.scores == one.scores


def test_a_device_that_is_not_there(pairs: Path) -> None:
    with pytest.raises(UserError, match=r"training.device = 'nonsense' cannot be used: "):
        _again(set={"training.device": "nonsense"})


def test_word_vectors_that_the_recipe_names(pairs: Path) -> None:
    (pairs / "vectors.txt").write_text("a " + " ".join(["7.5"] * 16) + "\n")
    trained = _again(set={"model.input": '{ kind = "tokens", vectors = "vectors.txt" }', "training.steps": 0})
    weights = load_file(trained.run.model)["source.embedding.weight_VD"]
    token = trained.corpora.task.codecs.source.encode(["a"])[0][0]
    assert weights[token].abs().min() > 1


def test_what_was_asked_for_is_kept(pairs: Path) -> None:
    trained = _again(set={"training.steps": 1})
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


@pytest.mark.parametrize("width", [30, 96, 128, 200, 256])
def test_a_width_without_a_recipe(place: Path, width: int) -> None:
    write_pairs(place / "pairs.tsv")
    changes = (*QUICK, f"model.width={width}", "model.depth=1")
    trained = train(Command(data=("pairs.tsv",), out=Path("run"), changes=changes), view="none")
    assert trained.recipe.model.width == width


def test_minutes_for_a_recipe_that_was_made_for_days(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    recipe = write_recipe(place / "r.toml", 'schedule = { kind = "inverse-sqrt", warmup = 4000 }\n')
    changes = ("training.steps=3",)
    trained = train(
        Command(recipe=str(recipe), data=("pairs.tsv",), minutes=0.2, out=Path("run"), changes=changes), view="none"
    )
    assert trained.recipe.training.schedule.kind == "cosine"


def test_what_is_advised_can_be_done(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    command = Command(recipe=str(write_recipe(place / "r.toml")), data=("pairs.tsv",), out=Path("run"))
    train(replace(command, changes=("training.steps=3",)), view="none")
    advised = ("training.steps=5", "training.optimiser.rate=1e-5", "training.spike=0", "training.clip=0.5")
    trained = train(replace(command, changes=advised), view="none")
    assert trained.place.step == 5
    assert trained.run.read_metrics()[-2]["rate"] <= 1e-5


def test_a_file_that_was_moved(place: Path) -> None:
    recipe, pairs = str(write_recipe(place / "r.toml")), write_pairs(place / "pairs.tsv")
    command = Command(recipe=recipe, data=("pairs.tsv",), out=Path("run"), changes=QUICK)
    train(command, view="none")
    (place / "there").mkdir()
    pairs.rename(place / "there" / "moved.tsv")
    again = replace(command, data=("there/moved.tsv",), changes=("training.steps=5",))
    assert train(again, view="none").place.step == 5


def test_few_examples_to_validate_on_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(write_recipe(place / "r.toml"))
    write_pairs(place / "few.tsv", count=40)
    write_pairs(place / "many.tsv", count=1000)
    train(Command(recipe=recipe, data=("few.tsv",), out=Path("few"), changes=QUICK), view="lines")
    assert "to validate on: a score of so few says little; give more: --valid FILE, or" in capsys.readouterr().err
    train(Command(recipe=recipe, data=("many.tsv",), out=Path("many"), changes=QUICK), view="lines")
    assert "says little" not in capsys.readouterr().err


def test_flops_are_counted(place: Path) -> None:
    """By the model's cost for each token that counts; R-Drop runs the model twice."""
    write_pairs(place / "pairs.tsv")
    command = Command(recipe=str(write_recipe(place / "r.toml")), data=("pairs.tsv",), out=Path("run"), changes=QUICK)
    once = train(command, view="none")
    much = amount(once.corpora)
    cost = model_cost(once.recipe.model, once.corpora.task.sizes(), much.length, much.source_length)
    assert once.place.flops == pytest.approx(once.place.tokens * 3 * cost.flops)
    twice = train(replace(command, out=Path("twice"), changes=(*QUICK, "training.r_drop=1.0")), view="none")
    assert twice.place.flops == pytest.approx(2 * once.place.flops)


def test_a_step_that_does_not_fit_into_the_minutes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before it is tried: by a small batch."""
    write_pairs(place / "pairs.tsv")
    budgets: list[int] = []

    def slow(work: Any, order: Any) -> float:
        budgets.append(order.budget)
        return 2.0

    monkeypatch.setattr(decide, "step_seconds", slow)
    recipe = str(write_recipe(place / "r.toml"))
    command = Command(recipe=recipe, data=("pairs.tsv",), minutes=0.3, changes=("training.batch=25600",))
    with pytest.raises(UserError, match=r"a step of 25,600 tokens takes about 50 s and the validation 0 s, too long"):
        train(command, view="none")
    assert max(budgets) <= 1024


def test_a_model_without_its_state_is_not_written_over(pairs: Path) -> None:
    _again(set={"training.steps": 8})
    shutil.rmtree(pairs / "run" / "state")
    before = (pairs / "run" / "model.safetensors").read_bytes()
    with pytest.raises(UserError, match=r"run: is a finished run, but nothing is left in state/ to go on"):
        _again(set={"training.steps": 8})
    assert (pairs / "run" / "model.safetensors").read_bytes() == before
    assert _again(set={"training.steps": 8}, force=True).place.step == 8


def test_flops_end_a_run_and_fit_its_schedule(pairs: Path) -> None:
    """To within a step; a warm-up that is longer than the run becomes a tenth of it."""
    trained = _again(set={"training.schedule": "{kind='inverse-sqrt', warmup=4000}"}, budget=Budget("flops", 2e8))
    place = trained.place
    assert place.ended == "all FLOPs are spent"
    assert 2e8 <= place.flops < 2e8 * (1 + 2 / place.step)
    assert trained.recipe.training.steps is None  # the recipe's own 40 do not hold
    assert trained.recipe.training.schedule.kind == "cosine"
    assert trained.recipe.training.schedule.warmup == 0.1
    assert f"| training FLOPs | {place.flops:.2e} |" in trained.run.card.read_text()
    assert "| memory | " in trained.run.card.read_text()
    assert (
        _again(set={"training.schedule": "{kind='inverse-sqrt', warmup=4000}"}, budget=Budget("flops", 2e8)).place.step
        == place.step
    )


@pytest.mark.parametrize(("budget", "steps"), [(Budget("epochs", 2.0), 16), (Budget("minutes", 0.05), None)])
def test_a_budget_stands_over_the_recipe(pairs: Path, budget: Budget, steps: int | None) -> None:
    place = _again(budget=budget).place
    assert place.step == steps if steps else place.ended == "the time is over"
