"""Scores: of all that they should be of, and right."""

from collections.abc import Sized
from pathlib import Path

import pytest
import torch

from seqloom.data import cache as cache_module
from seqloom.data.cache import Cache, CacheWriter
from seqloom.generation import GenerationSettings
from seqloom.jobs.learning import scores
from seqloom.jobs.learning.scores import accuracy, metrics_of, signature, validator
from seqloom.models.build import Model
from seqloom.tasks import Classify, Task, Translate
from seqloom.tasks.classify import ClassifyTask
from seqloom.training.settings import TrainingSettings
from seqloom.training.validation import mean_loss
from tests.tasks.small import CHARACTERS, WORDS, encoded, model_for, task_of
from tests.training.small import WORDS as LETTERS

CPU = torch.device("cpu")
BACKWARDS = [word[::-1] for word in LETTERS]


@pytest.fixture
def task() -> Task:
    return task_of(Translate(), "pairs", CHARACTERS, LETTERS, BACKWARDS)


def _cache(task: Task, path: Path, *columns: list[str]) -> Cache:
    with CacheWriter(path, task.encoder.columns, {}) as writer:
        for at in range(len(columns[0])):
            writer.add(encoded(task, *(column[at : at + 1] for column in columns)))
    return Cache(path)


def test_as_many_as_asked_for_are_written(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they stand in several chunks; for a test, all."""
    monkeypatch.setattr(cache_module, "CHUNK", 40)
    caches = [
        _cache(task, tmp_path / "a.arrow", LETTERS, BACKWARDS),
        _cache(task, tmp_path / "b.arrow", LETTERS[:16], BACKWARDS[:16]),
    ]
    assert len(caches[0].rows) > 3
    assert len(scores._sample(caches, 10**9)) == 64
    assert len(scores._sample(caches, 32)) == 32
    assert len(scores._sample(caches, 4)) == 4


def test_what_is_written_against_the_references(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = _cache(task, tmp_path / "a.arrow", LETTERS, BACKWARDS)
    said = [*BACKWARDS[:12], *["wrong"] * 36]
    monkeypatch.setattr(scores, "answers", lambda *given: said)
    model = model_for(task, "encoder-decoder").float()
    found = validator(task, [cache], 100, CPU, metrics_of(task, [cache]))(model)
    assert found.keys() == {"loss", "exact", "chrf"}  # one word each: BLEU would be 0
    assert found["exact"] == 25.0
    assert found["loss"] == pytest.approx(mean_loss(model, task, cache.read([0]), CPU), rel=1e-5)
    assert model.training


def test_so_many_are_written_as_are_asked_for(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = _cache(task, tmp_path / "a.arrow", LETTERS, BACKWARDS)
    asked = list[int]()

    def say(task: Task, model: object, examples: Sized, *given: object) -> list[str]:
        asked.append(len(examples))
        return ["wrong"] * len(examples)

    monkeypatch.setattr(scores, "answers", say)
    model = model_for(task, "encoder-decoder").float()
    for answered in (5, 1000):
        validator(task, [cache], 100, CPU, metrics_of(task, [cache]), answered)(model)
    assert asked == [5, 48]


def test_bleu_suits_the_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    japanese = ["私は学生です", "今日は雨です"]
    task = task_of(Translate(), "pairs", CHARACTERS, ["a", "b"], japanese)
    cache = _cache(task, tmp_path / "a.arrow", ["a", "b"], japanese)
    metrics = metrics_of(task, [cache])
    assert "|tok:char|" in signature(metrics, 200)
    monkeypatch.setattr(scores, "answers", lambda *given: japanese)
    model = model_for(task, "encoder-decoder").float()
    found = validator(task, [cache], 100, CPU, metrics)(model)
    assert found.keys() == set(task.scores) - {"gleu"}
    chosen = metrics_of(task, [cache], TrainingSettings(best="gleu"))
    assert validator(task, [cache], 100, CPU, chosen)(model).keys() == set(task.scores)
    assert found["bleu"] == pytest.approx(100)


def test_answers_do_not_depend_on_who_shares_the_batch(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    from seqloom.jobs.learning import answers

    model = model_for(task, "encoder-decoder")
    examples = encoded(task, LETTERS, BACKWARDS)
    whole = answers.answers(task, model, examples)  # type: ignore[arg-type]
    monkeypatch.setattr(answers, "GREEDY", GenerationSettings(beam=1, batch=5))
    assert answers.answers(task, model, examples) == whole  # type: ignore[arg-type]
    assert len(set(whole)) > 1


def test_accuracy_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that was never seen in training is always wrong."""
    task = task_of(Classify(), "classes", WORDS, ["a", "b", "c"], ["x", "y", "y"])
    assert isinstance(task, ClassifyTask)
    model: Model = model_for(task, "encoder-only", "classes")
    monkeypatch.setattr(scores, "chosen", lambda model, batch, device: torch.tensor([0, 0, 0, 0]))
    # y is the most frequent: 0
    found = accuracy(task, model, [encoded(task, ["a", "b", "c", "a"], ["y", "y", "x", "new"])], CPU)
    assert found == 50.0
