"""Scores of tags: of words, whatever they are cut into, and of spans."""

import pytest
import torch

from seqloom.jobs import tag_scores as module
from seqloom.jobs.tag_scores import tag_scores
from seqloom.models.build import Model
from seqloom.tasks import Tag
from seqloom.tasks.tag import TagTask
from tests.tasks.small import CHARACTERS, WORDS, encoded, model_for, task_of

CPU = torch.device("cpu")


def _task(words: list[list[str]], tags: list[list[str]], text: object = CHARACTERS) -> tuple[TagTask, Model]:
    task = task_of(Tag(), "tags", text, words, tags)  # type: ignore[arg-type]
    assert isinstance(task, TagTask)
    return task, model_for(task, "encoder-only", "tags")


def _say(monkeypatch: pytest.MonkeyPatch, *ids: int) -> None:
    monkeypatch.setattr(module, "chosen", lambda task, model, batch, device: torch.tensor(ids))


def test_words_are_counted_and_not_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = _task([["ab", "c"]], [["X", "X"]])
    _say(monkeypatch, 0, 0, 0, 1)
    assert tag_scores(task, model, [encoded(task, [["ab", "c"]], [["X", "X"]])], CPU) == {"accuracy": 50.0}


def test_a_tag_that_was_never_seen_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a word, but not for the loss."""
    task, model = _task([["ab", "c"]], [["X", "X"]])
    _say(monkeypatch, 0, 0, 0, 0)
    examples = encoded(task, [["ab", "c"]], [["X", "new"]])
    assert tag_scores(task, model, [examples], CPU) == {"accuracy": 50.0}
    assert task.batch(examples).count == 1


def test_spans_end_with_their_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four words is wrong, and with it one of the two spans that are said and of the three that are wanted."""
    words = [["a", "b"], ["c"], ["d"]]
    tags = [["O", "B-X"], ["I-X"], ["B-Y"]]
    task, model = _task(words, tags, WORDS)
    names = task.labels.names
    _say(monkeypatch, *(names.index(tag) for tag in ("O", "B-X", "O", "B-Y")))
    found = tag_scores(task, model, [encoded(task, words, tags)], CPU)
    assert found == {"accuracy": 75.0, "span-f1": pytest.approx(80.0)}
    strange = tag_scores(task, model, [encoded(task, words, [["O", "B-Z"], ["O"], ["B-Y"]])], CPU)
    assert strange == {"accuracy": 75.0, "span-f1": pytest.approx(50.0)}
