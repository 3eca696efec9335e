"""Running text: every token but the first is a goal once in an epoch, behind what stood before it."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import cache as cache_module
from seqloom.data import order as order_module
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.order import Order, Weighted, in_order
from seqloom.data.ragged import Ragged
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Goals, Language, Task
from seqloom.tasks.language import LanguageTask
from seqloom.text import BEGIN, END, TextSettings
from tests.tasks.small import CHARACTERS, WORDS, by_hand, encoded, model_for, padded, rows_of, side, task_of

LINES = ["to be or not", "to be", "that is the question"]


def _pairs(task: Task, examples: Examples) -> Counter[tuple[int, int]]:
    """(given, goal) of a batch."""
    batch = task.batch(examples)
    assert batch.target is not None
    return Counter(zip(batch.target.tokens_N.tolist(), batch.goal.tolist(), strict=True))


def _task(context: int) -> LanguageTask:
    task = task_of(Language(context=context), "text", CHARACTERS, LINES)
    assert isinstance(task, LanguageTask)
    return task


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12), context=st.integers(1, 9), seed=st.integers(0, 9))
def test_every_pair_of_neighbours_counts_once(lengths: list[int], context: int, seed: int) -> None:
    task = _task(context)
    total = sum(lengths)
    rows = Ragged.of(np.arange(total, dtype=np.int32), np.asarray(lengths))
    examples = Examples({"target": rows}, np.zeros(len(lengths), np.int64), np.arange(1, len(lengths) + 1))
    for draw in (None, np.random.default_rng(seed)):
        windows = task.windows(examples, draw)
        assert max(windows.columns["target"].lengths_B, default=0) <= context + 1
        if total < 2:
            assert len(windows) == 0
            continue
        assert _pairs(task, windows) == Counter((n, n + 1) for n in range(total - 1))
        # each window knows the line in which it begins
        for row, line in zip(rows_of(windows.columns["target"]), windows.line_B.tolist(), strict=True):
            assert row[0] in rows[line - 1].tolist()


def test_other_offsets_in_other_epochs() -> None:
    task = _task(8)
    examples = encoded(task, LINES)
    firsts = {len(task.windows(examples, np.random.default_rng(seed)).columns["target"][0]) for seed in range(40)}
    assert firsts == set(range(2, 10))
    assert len(task.windows(examples, None).columns["target"][0]) == 9


def _text_cache(path: Path, begin: int, count: int) -> Cache:
    """Numbers in a row, four in a line."""
    values = np.arange(begin, begin + count, dtype=np.int32)
    with CacheWriter(path, {"target": np.int32}, {}) as writer:
        for line in range(0, count, 4):
            part = values[line : line + 4]
            writer.add(Examples({"target": Ragged.rows([part])}, np.zeros(1, np.int64), np.asarray([line // 4 + 1])))
    return Cache(path)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "CHUNK", 16)


def _epoch(task: Task, order: Order, epoch: int) -> Counter[tuple[int, int]]:
    return sum((_pairs(task, batch) for batch in order.epoch(epoch)), Counter())


def test_text_of_many_chunks_runs_on(tmp_path: Path, small_chunks: None) -> None:
    """In one pool all of a file is one text, in whatever order its chunks were drawn; two files are two texts."""
    task = task_of(Language(context=5), "text", CHARACTERS, LINES)
    caches = [_text_cache(tmp_path / "a.arrow", 0, 200), _text_cache(tmp_path / "b.arrow", 1000, 100)]
    wanted = Counter((n, n + 1) for n in (*range(199), *range(1000, 1099)))
    order = Order([Weighted(cache) for cache in caches], 40, 1, task.reshape)
    assert _epoch(task, order, 0) == wanted
    assert _epoch(task, order, 1) == wanted
    assert sum((_pairs(task, batch) for batch in in_order(caches[0], 40, task.reshape)), Counter()) == Counter(
        (n, n + 1) for n in range(199)
    )


def test_no_false_neighbours_where_a_pool_ends(tmp_path: Path, small_chunks: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(order_module, "POOL", 3)
    task = task_of(Language(context=5), "text", CHARACTERS, LINES)
    cache = _text_cache(tmp_path / "a.arrow", 0, 400)
    seen = _epoch(task, Order([Weighted(cache)], 40, 1, task.reshape), 0)
    assert all(goal == given + 1 for given, goal in seen)
    assert max(seen.values()) == 1
    assert len(seen) >= 399 - (len(cache.rows) - 1)  # at most the joints between chunks are missing


def test_windows_fill_a_batch(tmp_path: Path, small_chunks: None) -> None:
    """Two windows of five tokens into ten, though each has a goal more."""
    task = task_of(Language(context=5), "text", CHARACTERS, LINES)
    order = Order([Weighted(_text_cache(tmp_path / "a.arrow", 0, 400))], 10, 1, task.reshape, task.marks)
    given = Counter(task.batch(batch).tokens for batch in order.epoch(0))
    assert max(given) == 10
    assert given[10] >= 35


@pytest.mark.parametrize("weight", [2.0, 0.5])
def test_weighted_text_is_still_text(tmp_path: Path, small_chunks: None, weight: float) -> None:
    task = task_of(Language(context=5), "text", CHARACTERS, LINES)
    seen = _epoch(task, Order([Weighted(_text_cache(tmp_path / "a.arrow", 0, 400), weight)], 40, 1, task.reshape), 0)
    assert all(goal == given + 1 for given, goal in seen)
    assert seen.total() == pytest.approx(399 * weight, rel=0.1)


def test_documents() -> None:
    task = task_of(Language(context=5, lines="documents"), "text", WORDS, LINES)
    examples = encoded(task, LINES)
    batch = task.batch(examples)
    assert task.reshape is None
    assert batch.target is not None
    rows = rows_of(examples.columns["target"])
    assert side(batch.target.tokens_N, batch.target.layout.lengths_B) == [[BEGIN, *row] for row in rows]
    assert side(batch.goal, batch.target.layout.lengths_B) == [[*row, END] for row in rows]
    assert batch.count == 10 + 3


def _pieces(**source: Any) -> TextSettings:
    return TextSettings.model_validate({"source": source})


@pytest.mark.parametrize(
    "text",
    [
        CHARACTERS,
        _pieces(kind="bpe", size=40),
        _pieces(kind="bytes"),
        _pieces(kind="unigram", size=40),
    ],
    ids=lambda text: text.source.kind,
)
def test_lines_end_with_a_line_break(text: TextSettings) -> None:
    task = task_of(Language(), "text", text, LINES)
    rows = rows_of(encoded(task, LINES).columns["target"])
    assert task.codecs.source.decode_many(rows) == [line + "\n" for line in LINES]


@pytest.mark.parametrize(
    "text", [WORDS, _pieces(kind="characters", normalise={"spaces": "collapse"})], ids=["words", "collapse"]
)
def test_where_there_are_no_line_breaks_a_mark_ends_a_line(text: TextSettings) -> None:
    task = task_of(Language(), "text", text, LINES)
    for row, line in zip(rows_of(encoded(task, LINES).columns["target"]), LINES, strict=True):
        assert row[-1] == END
        assert task.codecs.source.decode(row) == line


@pytest.mark.parametrize("lines", ["text", "documents"])
def test_the_loss_is_that_of_padded_rows(lines: Any) -> None:
    task = task_of(Language(context=7, lines=lines), "text", CHARACTERS, LINES)
    model = model_for(task, "decoder-only").eval()
    assert isinstance(model, DecoderOnly)
    examples = encoded(task, LINES)
    examples = examples if task.reshape is None else task.reshape(examples, np.random.default_rng(3))
    rows = rows_of(examples.columns["target"])
    given = [row[:-1] for row in rows] if lines == "text" else [[BEGIN, *row] for row in rows]
    goal = [row[1:] for row in rows] if lines == "text" else [[*row, END] for row in rows]
    wanted = by_hand(list(model.scores(model(*padded(given)))), goal, 0.1)
    torch.testing.assert_close(task.loss(model, task.batch(examples), Goals(0.1)), wanted)


def test_a_model_that_does_not_fit() -> None:
    assert "it needs a decoder-only model" in (LanguageTask.refuses(ModelSettings(family="encoder-decoder")) or "")
