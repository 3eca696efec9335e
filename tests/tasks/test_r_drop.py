"""R-Drop in every task: two passes that are alike have the plain loss, and those that are not are told apart."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqloom.models.build import Model
from seqloom.tasks import Batch, Classify, Frame, Goals, Language, Tag, Task, Translate, build_task
from seqloom.text import TextSettings
from tests.tasks.small import WORDS, encoded, model_for, task_of
from tests.tasks.test_masked import made as masks
from tests.tasks.test_nodes import examples as labelled
from tests.tasks.test_nodes import task_of as graph_task

PAIRS = ["a b c", "d", "c c c c"], ["x", "y z y", "z"]
TEXTS, NAMES = ["good film", "bad", "not so good a film"], ["yes", "no", "no"]
SENTENCES, TAGS = [["ab", "c"], ["c"], ["ab", "ab", "c"]], [["N", "V"], ["V"], ["N", "N", "V"]]
LINES = ["a b c d", "b c", "d e f", "a b f", "", "c c a"]
SHARED = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})

Made = tuple[Task, Model, Batch]


def translate(dropout: float) -> Made:
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    return task, model_for(task, "encoder-decoder", dropout=dropout), task.batch(encoded(task, *PAIRS))


def recurrent(dropout: float) -> Made:
    """Which pads what it reads."""
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    parts = {"mixer": {"kind": "recurrence", "cell": "gru"}, "cross": {"kind": "attention"}}
    return task, model_for(task, "encoder-decoder", dropout=dropout, **parts), task.batch(encoded(task, *PAIRS))


def joined(dropout: float) -> Made:
    settings = Translate(learn="target")
    task = build_task(settings, task_of(settings, "pairs", SHARED, *PAIRS).codecs, "decoder-only")
    return task, model_for(task, "decoder-only", dropout=dropout), task.batch(encoded(task, *PAIRS))


def language(dropout: float) -> Made:
    task = task_of(Language(context=8), "text", WORDS, LINES)
    return task, model_for(task, "decoder-only", dropout=dropout), task.batch(encoded(task, LINES))


def classify(dropout: float) -> Made:
    task = task_of(Classify(), "classes", WORDS, TEXTS, NAMES)
    return task, model_for(task, "encoder-only", "classes", dropout=dropout), task.batch(encoded(task, TEXTS, NAMES))


def tag(dropout: float) -> Made:
    task = task_of(Tag(), "tags", WORDS, SENTENCES, TAGS)
    return task, model_for(task, "encoder-only", "tags", dropout=dropout), task.batch(encoded(task, SENTENCES, TAGS))


def spelled(dropout: float) -> Made:
    """Whose output lies otherwise than what it reads."""
    task = task_of(Tag(spelled=True), "tags", WORDS, SENTENCES, TAGS)
    model = model_for(task, "encoder-only", "tags", dropout=dropout, input={"kind": "spelled", "letters": 8})
    return task, model, task.batch(encoded(task, SENTENCES, TAGS))


def masked(dropout: float, follows: bool = False) -> Made:
    task, examples = masks(follows=follows)
    model = model_for(task, "encoder-only", {"kind": "tokens", "follows": follows}, dropout)
    return task, model, task.batch(examples)


def follows(dropout: float) -> Made:
    """And which sentence follows."""
    return masked(dropout, follows=True)


MADE = [translate, recurrent, joined, language, classify, tag, spelled, masked, follows]


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_two_passes_that_are_alike_have_the_plain_loss(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.0)
    model.train()
    torch.testing.assert_close(task.loss(model, batch, Goals(0.1, r_drop=5.0)), task.loss(model, batch, Goals(0.1)))


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_two_passes_that_are_not_are_told_apart(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.4)
    model.train()
    losses = []
    for weight in (1e-9, 5.0):
        torch.manual_seed(3)
        losses.append(task.loss(model, batch, Goals(r_drop=weight)))
    assert losses[1] > losses[0] + 1e-3


@pytest.mark.parametrize("made", [translate, recurrent, language, classify, tag], ids=lambda made: made.__name__)
def test_what_fills_a_frame_up_does_not_count(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.0)
    model.train()
    frame = Frame.around(batch, 100)
    assert frame is not None
    numbers = torch.empty(frame.size, dtype=torch.int64)
    frame.write(batch, numbers)
    (loss, padded), (again, plain) = (_framed(task, model, frame.read(batch, numbers), weight) for weight in (5.0, 0.0))
    wanted = task.loss(model, batch, Goals(0.1, r_drop=5.0))
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(again, wanted)
    assert padded == plain  # whether it pads at all is heard of both ways


def _framed(task: Task, model: Model, framed: Batch, weight: float) -> tuple[torch.Tensor, list[bool]]:
    loss = task.loss(model, framed, Goals(0.1, r_drop=weight))
    return loss, [side.layout.padded for side in (framed.source, framed.target) if side is not None]


def test_a_graph_is_read_twice(tmp_path: Path) -> None:
    task = graph_task(tmp_path)
    batch = task.batch(labelled([0, 1, 0, -1]))
    model = model_for(task, "encoder-only", "tags", input={"kind": "features"}, positions={"kind": "none"}).float()
    model.train()
    torch.testing.assert_close(task.loss(model, batch, Goals(r_drop=5.0)), task.loss(model, batch, Goals()))
