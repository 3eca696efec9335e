"""Scores of tags: of words, whatever they are cut into, and of spans."""

from pathlib import Path

import pytest
import torch

from seqloom.data.prepare import Fit, HeldOut, prepare
from seqloom.data.settings import Corpus
from seqloom.evaluation import total
from seqloom.evaluation.spans import SpanF1
from seqloom.jobs.learning import tag_scores as module
from seqloom.jobs.learning.scores import validator
from seqloom.jobs.learning.tag_scores import tag_scores
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
    monkeypatch.setattr(module, "chosen", lambda model, batch, device: torch.tensor(ids))


def test_words_are_counted_and_not_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = _task([["ab", "c"]], [["X", "Y"]])
    _say(monkeypatch, 0, 0, 0, 1)
    found = tag_scores(task, model, [((), [encoded(task, [["ab", "c"]], [["X", "X"]])])], CPU)
    assert found == {"accuracy": 50.0, "exact": 0.0}


def test_a_tag_that_was_never_seen_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a word, but not for the loss."""
    task, model = _task([["ab", "c"]], [["X", "X"]])
    _say(monkeypatch, 0, 0, 0, 0)
    examples = encoded(task, [["ab", "c"]], [["X", "new"]])
    assert tag_scores(task, model, [(["new"], [examples])], CPU) == {"accuracy": 50.0, "exact": 0.0}
    assert task.batch(examples).count == 1


def test_spans_end_with_their_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four words is wrong, and with it one of three sentences and one of the three spans that are wanted."""
    words = [["a", "b"], ["c"], ["d"]]
    tags = [["O", "B-X"], ["I-X"], ["B-Y"]]
    task, model = _task(words, tags, WORDS)
    names = task.labels.names
    _say(monkeypatch, *(names.index(tag) for tag in ("O", "B-X", "O", "B-Y")))
    found = tag_scores(task, model, [((), [encoded(task, words, tags)])], CPU)
    assert found == {"accuracy": 75.0, "exact": pytest.approx(200 / 3), "span-f1": pytest.approx(80.0)}
    other = encoded(task, words, [["O", "B-Z"], ["O"], ["B-Y"]])
    strange = tag_scores(task, model, [(["B-Z"], [other])], CPU)
    assert strange == {"accuracy": 75.0, "exact": pytest.approx(200 / 3), "span-f1": pytest.approx(50.0)}


@pytest.mark.parametrize(
    ("wanted", "said", "f1"),
    [
        ("B-X E-X", "B-X I-X", 100.0),  # an unseen tag ends a span as a known one does
        ("B-X J-X", "B-X O", 100.0),  # and one of another form marks none
        ("B-X I-X I-Z", "B-X I-X O", 200 / 3),
        ("B-Z I-Z B-X", "O O B-X", 200 / 3),  # two words, one span
        ("B-Y I-Y", "B-Y O", 0.0),  # not right because the second tag was never seen
    ],
)
@pytest.mark.parametrize("held", [False, True])
def test_spans_are_those_of_evaluate_with_tags_that_were_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, said: str, f1: float, held: bool
) -> None:
    """From the cache, where numbers stand; each file has unseen tags of its own."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    task, model = _task([["a", "b", "c", "d"]], [["O", "B-X", "I-X", "B-Y"]], WORDS)
    caches = []
    for name, tags in ("other", "I-Q B-Q I-Q"), ("valid", wanted):
        file = tmp_path / f"{name}.conll"
        file.write_text("\n".join(f"a {tag}" for tag in tags.split()) + "\n")
        held_out = HeldOut(1.0, 1) if held else None
        made = prepare(Corpus(files=(str(file),)), "tags", task.encoder, Fit(), name, held_out)
        caches.append(made.examples if made.held_out is None else made.held_out)
    none = task.labels.names.index("O")
    ids = iter([[none] * 3, [task.labels.names.index(tag) for tag in said.split()]])
    monkeypatch.setattr(module, "chosen", lambda model, batch, device: torch.tensor(next(ids)))
    found = validator(task, caches, 100, CPU, ())(model)["span-f1"]
    texts = [["O", "O", "O"], said.split()], [["I-Q", "B-Q", "I-Q"], wanted.replace("J-X", "O").split()]
    metric = SpanF1(["Q", "X", "Y", "Z"])
    assert found == pytest.approx(float(metric.score(total(metric.statistics(texts[0], [texts[1]])))))
    alone = metric.statistics(texts[0][1:], [texts[1][1:]])
    assert float(metric.score(total(alone))) == pytest.approx(f1)
