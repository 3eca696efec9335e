"""BPE dropout in training: other pieces in other epochs, the same text, nothing too long."""

from typing import Any

import numpy as np
import pytest

from seqloom.data.cache import Examples
from seqloom.tasks import Classify, Task, Translate
from seqloom.tasks.recut import seeds_of
from seqloom.text import UNKNOWN, TextSettings, Vocabulary
from tests.tasks.small import encoded, rows_of, task_of

SOURCES = ["lower lowest lowering", "newer newest", "a wider, widest ⁇ world"] * 5
TARGETS = ["wide wider widest"] * 15


def _text(dropout: float, **more: Any) -> TextSettings:
    return TextSettings.model_validate({"source": {"kind": "bpe", "size": 60, "dropout": dropout}, **more})


@pytest.fixture
def task() -> Task:
    return task_of(Translate(), "pairs", _text(0.3, target={"kind": "bpe", "size": 60}), SOURCES, TARGETS)


def _varied(task: Task, examples: Examples, epoch: int, seed: int = 1, longest: int | None = None) -> Examples:
    return task.vary(examples, seeds_of(examples, seed, epoch), longest)


def test_other_pieces_of_the_same_text(task: Task) -> None:
    examples = encoded(task, SOURCES, TARGETS)
    one, other = (_varied(task, examples, epoch) for epoch in (0, 1))
    whole, first, second = (rows_of(part.columns["source"]) for part in (examples, one, other))
    assert first != whole
    assert first != second
    assert task.codecs.source.decode_many(first) == task.codecs.source.decode_many(whole)
    assert one.columns["target"] is examples.columns["target"]  # which has no dropout
    assert one.line_B.tolist() == examples.line_B.tolist()
    assert rows_of(_varied(task, examples, 0).columns["source"]) == first
    assert rows_of(_varied(task, examples, 0, seed=2).columns["source"]) != first


def test_it_does_not_matter_who_shares_the_batch(task: Task) -> None:
    examples = encoded(task, SOURCES, TARGETS)
    whole = rows_of(_varied(task, examples, 3).columns["source"])
    some = _varied(task, examples.take(np.asarray([7, 2])), 3)
    assert rows_of(some.columns["source"]) == [whole[7], whole[2]]


def test_nothing_gets_too_long(task: Task) -> None:
    examples = encoded(task, SOURCES, TARGETS)
    longest = int(examples.columns["source"].lengths_B.max())
    assert _varied(task, examples, 0).columns["source"].lengths_B.max() > longest
    cut = _varied(task, examples, 0, longest=longest).columns["source"]
    assert cut.lengths_B.max() <= longest


def test_both_sides_of_a_shared_vocabulary_and_no_labels() -> None:
    shared = task_of(Translate(), "pairs", _text(0.5, shared=True), SOURCES, TARGETS)
    examples = encoded(shared, SOURCES, TARGETS)
    varied = _varied(shared, examples, 0)
    assert rows_of(varied.columns["target"]) != rows_of(examples.columns["target"])
    classes = task_of(Classify(), "classes", _text(0.5), SOURCES, ["x"] * 15)
    examples = encoded(classes, SOURCES, ["x"] * 15)
    varied = _varied(classes, examples, 0)
    assert varied.columns["target"] is examples.columns["target"]
    assert rows_of(varied.columns["source"]) != rows_of(examples.columns["source"])
    assert isinstance(classes.codecs.source, Vocabulary)


@pytest.mark.parametrize("form", ["nfkc", "none"])
@pytest.mark.parametrize("bytewise", [False, True])
def test_what_is_unknown_stays_unknown(form: str, bytewise: bool) -> None:
    pieces = {"kind": "bpe", "size": 300, "dropout": 0.5, "bytes": bytewise, "normalise": {"form": form}}
    task = task_of(Translate(), "pairs", TextSettings.model_validate({"source": pieces}), SOURCES, TARGETS)
    examples = encoded(task, ["lower 語 lowest", "wider ??", "lowest"], TARGETS[:3])
    source = task.codecs.source
    whole = rows_of(examples.columns["source"])
    assert (UNKNOWN in whole[0]) is not bytewise
    for epoch in range(5):
        varied = rows_of(_varied(task, examples, epoch).columns["source"])
        assert source.decode_many(varied) == source.decode_many(whole)
        assert bytewise or varied[0] == whole[0]
    assert varied[2] != whole[2] or varied[1] != whole[1]


def test_a_character_that_was_cut_in_two_stays_cut() -> None:
    text = TextSettings.model_validate({"source": {"kind": "bpe", "size": 300, "dropout": 0.5, "bytes": True}})
    task = task_of(Translate(), "pairs", text, SOURCES, TARGETS)
    examples = encoded(task, ["lower 語"], TARGETS[:1])
    cut = examples.columns["source"].cut(int(examples.columns["source"].lengths_B[0]) - 1)
    examples = Examples({**examples.columns, "source": cut}, examples.corpus_B, examples.line_B)
    for epoch in range(5):
        assert rows_of(_varied(task, examples, epoch).columns["source"]) == rows_of(cut)


def test_without_dropout_nothing_is_done() -> None:
    plain = task_of(Translate(), "pairs", _text(0.0), SOURCES, TARGETS)
    examples = encoded(plain, SOURCES, TARGETS)
    assert _varied(plain, examples, 0).columns == examples.columns
