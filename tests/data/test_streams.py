"""Texts read side by side: each place goes on where it ended, and every pair of neighbours is seen once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import cache as cache_module
from seqloom.data import order as order_module
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.order import Order, Weighted, in_order
from seqloom.data.ragged import Ragged
from seqloom.data.streams import LEAST, Streams, side_by_side


def _text(tokens: int, first: int = 0, line: int = 7) -> Examples:
    """Numbers in a row, some in each line."""
    values = np.arange(first, first + tokens, dtype=np.int32)
    lengths = np.full(-(-tokens // line), line)
    lengths[-1:] -= -tokens % line
    return Examples({"target": Ragged.of(values, lengths)}, np.zeros_like(lengths), np.arange(1, len(lengths) + 1))


def _check(batches: list[Examples]) -> list[int]:
    """Every goal, where all rows go on as they should."""
    goals, ends = list[int](), list[int]()
    for batch in batches:
        windows = [batch.columns["target"][row].tolist() for row in range(len(batch))]
        assert all(window == list(range(window[0], window[-1] + 1)) for window in windows)
        assert all(len(window) > 1 for window in windows)
        if batch.goes_on:
            assert [window[0] for window in windows] == ends
        ends = [window[-1] for window in windows]
        goals += [token for window in windows for token in window[1:]]
    return sorted(goals)


@given(tokens=st.integers(0, 400), context=st.integers(1, 9), budget=st.integers(1, 60), seed=st.integers(0, 9))
def test_every_token_but_the_first_is_a_goal_once(tokens: int, context: int, budget: int, seed: int) -> None:
    text = _text(tokens)
    for draw in (None, np.random.default_rng(seed)):
        windows, groups = Streams(context).cut(text, budget, draw)
        batches = [
            Examples(part.columns, part.corpus_B, part.line_B, goes_on=place > 0)
            for place, part in enumerate(windows.take(rows) for rows in groups)
        ]
        assert _check(batches) == list(range(1, tokens))
        assert len({len(rows) for rows in groups}) <= 1
        assert max(windows.columns["target"].lengths_B, default=0) <= context + 2  # streams differ by a token
        for row in range(len(windows)):  # each window knows the line in which it begins
            assert windows.columns["target"][row][0] // 7 + 1 == windows.line_B[row]


def test_as_many_streams_as_a_batch_holds() -> None:
    windows, groups = Streams(5).cut(_text(401), 40, None)
    assert [len(rows) for rows in groups] == [8] * 10
    assert windows.columns["target"][0].tolist() == [0, 1, 2, 3, 4, 5]


def test_short_texts_have_fewer_streams() -> None:
    """So that most windows know what was before them."""
    _, groups = Streams(5).cut(_text(161), 400, None)
    assert len(groups) == LEAST
    assert len(groups[0]) == 4


def test_the_first_windows_are_of_another_length_in_each_epoch() -> None:
    lengths = {
        int(Streams(5).cut(_text(400), 40, np.random.default_rng(seed))[0].columns["target"].lengths_B[0])
        for seed in range(40)
    }
    assert lengths == {2, 3, 4, 5, 6}


def test_streams_of_unlike_lengths() -> None:
    parts = list(side_by_side(np.array([0, 10]), np.array([10, 23]), 5))
    assert [(begin.tolist(), end.tolist()) for begin, end in parts] == [([0, 10], [5, 15]), ([5, 15], [10, 23])]


def _cache(path: Path, first: int, tokens: int) -> Cache:
    with CacheWriter(path, {"target": np.int32}, {}) as writer:
        text = _text(tokens, first, 4)
        for line in range(len(text)):
            writer.add(text.take(np.asarray([line])))
    return Cache(path)


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Order:
    """Two texts of several pools each."""
    monkeypatch.setattr(cache_module, "CHUNK", 32)
    monkeypatch.setattr(order_module, "POOL", 4)
    caches = [_cache(tmp_path / "a.arrow", 0, 500), _cache(tmp_path / "b.arrow", 1000, 300)]
    return Order([Weighted(cache) for cache in caches], 20, 1, streams=Streams(4))


def test_a_pool_is_a_piece_of_one_text(order: Order) -> None:
    """Only the first token of each piece is no goal, in whatever order pieces are read."""
    pools, orders = {number for number, *_ in order.numbered(0)}, list[list[int]]()
    for epoch in range(3):
        batches = list(order.epoch(epoch))
        goals = _check(batches)
        assert len(goals) == len(set(goals)) == 800 - len(pools)
        orders.append([int(batch.columns["target"].values_N[0]) for batch in batches if not batch.goes_on])
    assert len(pools) > 5
    assert orders[0] != orders[1]


def test_from_any_place_on(order: Order) -> None:
    whole = list(order.numbered(1))
    for number, place, over, batch in whole[::7]:
        first = next(order.numbered(1, number, place))
        assert first[:3] == (number, place, over)
        assert first[3].goes_on is batch.goes_on is (place > 0)
        assert np.array_equal(first[3].columns["target"].values_N, batch.columns["target"].values_N)
    assert whole[-1][2] == 1
    assert [over for *_, over, _ in whole] == sorted(over for *_, over, _ in whole)


def test_validation_reads_so_too(order: Order) -> None:
    cache = order.corpora[0].cache
    batches = list(in_order(cache, 20, streams=Streams(4)))
    assert [batch.goes_on for batch in batches].count(False) == -(-len(cache.rows) // 4)
    assert len(_check(batches)) == 500 - -(-len(cache.rows) // 4)
