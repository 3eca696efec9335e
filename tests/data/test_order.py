"""The order of batches: every example as often as it should be, the same from the seed, from any place on."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data import cache as cache_module
from seqloom.data import order as order_module
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.order import Order, Weighted, cut, in_order
from seqloom.data.ragged import Ragged
from seqloom.tasks import Translate
from tests.tasks.small import CHARACTERS, task_of


def _cache(path: Path, count: int, seed: int = 0, first: int = 0) -> Cache:
    """Examples of two columns; an example's number is its line and also its first token."""
    draw = np.random.default_rng(seed)
    rows = {
        name: [[first + number, *draw.integers(0, 99, draw.integers(0, 30))] for number in range(count)]
        for name in ("source", "target")
    }
    with CacheWriter(path, {"source": np.uint16, "target": np.int32}, {"count": 7}) as writer:
        for begin in range(0, count, 7):
            here = slice(begin, begin + 7)
            columns = {name: Ragged.rows(values[here]) for name, values in rows.items()}
            lines = np.arange(first + begin, first + begin + len(columns["source"]))
            writer.add(Examples(columns, np.zeros(len(lines), np.int64), lines))
    return Cache(path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Many small chunks, so that there are several pools."""
    monkeypatch.setattr(cache_module, "CHUNK", 200)
    monkeypatch.setattr(order_module, "POOL", 5)
    return _cache(tmp_path / "a.arrow", 500)


def _seen(batches: list[Examples]) -> list[int]:
    return [line for batch in batches for line in batch.line_B.tolist()]


def test_a_cache_gives_back_what_was_put_in(cache: Cache) -> None:
    assert len(cache) == 500
    assert len(cache.rows) > 20
    examples = Examples.join(cache.read(range(len(cache.rows))))
    assert examples.line_B.tolist() == list(range(500))
    assert [examples.columns["source"][row][0] for row in range(500)] == list(range(500))
    assert cache.totals.tokens["source"] == len(examples.columns["source"].values_N)
    assert cache.totals.longest["target"] == examples.columns["target"].lengths_B.max()
    assert cache.facts == {"count": 7}


def test_nothing_waits_for_nothing(tmp_path: Path) -> None:
    with CacheWriter(tmp_path / "a.arrow", {"target": np.uint16}, {}) as writer:
        for _ in range(3):
            writer.add(Examples({"target": Ragged.rows([])}, np.zeros(0, np.int64), np.zeros(0, np.int64)))
        assert writer.waiting == []
    assert len(Cache(tmp_path / "a.arrow")) == 0


def test_a_number_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    rows = Ragged.rows([[1, -1]])
    with pytest.raises(ValueError, match="-1"), CacheWriter(tmp_path / "a.arrow", {"target": np.uint16}, {}) as writer:
        writer.add(Examples({"target": rows}, np.zeros(1, np.int64), np.ones(1, np.int64)))


def test_an_epoch_holds_every_example_once(cache: Cache) -> None:
    order = Order([Weighted(cache)], budget=120, seed=3)
    batches = list(order.epoch(0))
    assert sorted(_seen(batches)) == list(range(500))
    for batch in batches:
        assert all(len(column.values_N) <= 120 for column in batch.columns.values())
        firsts = [batch.columns["target"][row][0] for row in range(len(batch))]
        assert firsts == batch.line_B.tolist()


def test_the_order_follows_from_seed_epoch_and_step_alone(cache: Cache) -> None:
    order = Order([Weighted(cache)], budget=120, seed=3)
    batches = list(order.epoch(1))
    assert _seen(list(Order([Weighted(cache)], 120, 3).epoch(1))) == _seen(batches)
    assert _seen(list(order.epoch(0))) != _seen(batches)
    assert _seen(list(Order([Weighted(cache)], 120, 4).epoch(1))) != _seen(batches)


def test_an_epoch_goes_on_from_any_place_and_reads_nothing_before_it(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_module, "POOL", 2)
    order = Order([Weighted(cache)], budget=120, seed=3)
    numbered = list(order.numbered(1))
    batches, pools = [examples for *_, examples in numbered], {pool for pool, *_ in numbered}
    assert len(pools) > 2
    shares = [over for _, _, over, _ in numbered]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1.0
    assert shares[len(shares) // 2] == pytest.approx(0.5, abs=0.1)
    real, read = order._pool, list[int]()
    monkeypatch.setattr(order, "_pool", lambda chunks, *rest: (read.append(len(chunks)), real(chunks, *rest))[1])
    for begin in (1, 7, len(batches) // 2, len(batches) - 1):
        read.clear()
        pool, batch, *_ = numbered[begin]
        assert _seen([examples for *_, examples in order.numbered(1, pool, batch)]) == _seen(batches[begin:])
        assert len(read) == max(pools) + 1 - pool
    assert not list(order.numbered(1, max(pools), numbered[-1][1] + 1))


def test_weights(cache: Cache, tmp_path: Path) -> None:
    other = _cache(tmp_path / "b.arrow", 100, first=1000)
    order = Order([Weighted(cache, 0.25), Weighted(other, 2.5)], budget=120, seed=3)
    epochs = [_seen(list(order.epoch(epoch))) for epoch in range(4)]
    counts = np.bincount(np.concatenate(epochs), minlength=1100)
    assert (counts[:500] == 1).all()  # a quarter in each of four epochs: another quarter each time
    assert (counts[1000:] == 10).all()
    assert abs(sum(line < 1000 for line in epochs[0]) - 125) < 30


@pytest.mark.parametrize("weight", [0.25, 1.5])
def test_weights_as_a_task_asks_for_them(cache: Cache, weight: float) -> None:
    """In many pools: which chunks share one differs from epoch to epoch."""
    task = task_of(Translate(), "pairs", CHARACTERS, ["a"], ["b"])
    order = Order([Weighted(cache, weight)], 120, 3, task.reshape, task.marks)
    assert len(order.chunks) > 4 * order_module.POOL
    counts = np.bincount([line for epoch in range(4) for line in _seen(list(order.epoch(epoch)))], minlength=500)
    assert set(counts.tolist()) == {4 * weight}


def test_batches_hold_examples_of_like_length(cache: Cache) -> None:
    waste = []
    for batch in Order([Weighted(cache)], budget=120, seed=3).epoch(0):
        lengths = np.stack([column.lengths_B for column in batch.columns.values()]).max(0)
        waste.append(lengths.max() / lengths.mean())
    assert np.mean(waste) < 1.4


def test_in_order_is_everything_once(cache: Cache) -> None:
    assert sorted(_seen(list(in_order(cache, 120)))) == list(range(500))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60), st.integers(1, 100))
def test_cut(sizes: list[tuple[int, int]], budget: int) -> None:
    array = np.asarray(sizes, np.int64)
    groups = cut(array, budget)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or (array[group].sum(0) <= budget).all()


def test_the_same_lines_with_another_reshape(cache: Cache) -> None:
    def halves(examples: Examples, draw: np.random.Generator | None) -> Examples:
        assert draw is not None
        return examples.take(np.flatnonzero(draw.random(len(examples)) < 0.5))

    seen = _seen(list(Order([Weighted(cache)], 120, 3, halves).epoch(0)))
    assert 150 < len(seen) < 350
    assert seen == _seen(list(Order([Weighted(cache)], 120, 3, halves).epoch(0)))


def test_columns_that_are_one_row_share_the_budget(cache: Cache) -> None:
    """Source, separator and target of an example count together."""
    batches = list(Order([Weighted(cache)], 150, 1, joined=True).epoch(0))
    sizes = [sum(len(column.values_N) for column in batch.columns.values()) + len(batch) for batch in batches]
    assert sorted(_seen(batches)) == list(range(500))
    assert max(sizes) <= 150
    assert np.mean(sizes) > 100
    apart = list(Order([Weighted(cache)], 150, 1).epoch(0))
    assert len(apart) < 0.8 * len(batches)
    assert sum(map(len, in_order(cache, 150, joined=True))) == 500
