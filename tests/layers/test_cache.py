"""Keys and values of the steps so far: growing and static, and what happens when it is full."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cache import Cache
from seqloom.layers.layout import Layout, Padded
from seqloom.layers.memory_compressed import MemoryCompressed, MemoryCompressedAttention
from seqloom.layers.mixer import reorder

LIKE = torch.empty(0)


def steps(rows: int, count: int, first: float) -> Tensor:
    """One head, one number: first, first + 1, … in row 0, ten times that in row 1."""
    numbers = torch.arange(first, first + count, dtype=torch.float32)
    return torch.stack([numbers * 10**row for row in range(rows)])[:, None, :, None]


def extended(cache: Cache, count: int, first: float, layout: Layout) -> Cache:
    new = steps(layout.rows, count, first)
    return cache.extend(new, -new, layout)


def held(cache: Cache) -> list[list[float]]:
    """What each row holds, up to its own length."""
    assert torch.equal(cache.keys_BGSK, -cache.values_BGSK) or cache.static
    return [row[0, :n, 0].tolist() for row, n in zip(cache.keys_BGSK, cache.lengths_B.tolist(), strict=True)]


def test_growing_evenly() -> None:
    cache = Cache.empty(2, 1, 1, 1, None, LIKE)
    assert cache.even
    cache = extended(cache, 2, 1, Padded.whole(2, 2))
    cache = extended(cache, 1, 3, Padded.whole(2, 1))
    assert held(cache) == [[1, 2, 3], [10, 20, 30]]
    assert cache.even
    assert cache.keys_BGSK.shape[2] == 3


@pytest.mark.parametrize("capacity", [None, 3, 5])
def test_rows_of_unequal_length_stay_flush_left(capacity: int | None) -> None:
    cache = Cache.empty(2, 1, 1, 1, capacity, LIKE)
    cache = extended(cache, 2, 1, Padded.of([2, 1]))
    cache = extended(cache, 1, 3, Padded.of([0, 1], 1))
    cache = extended(cache, 1, 4, Padded.of([1, 1]))
    assert held(cache) == [[1, 2, 4], [10, 30, 40]]
    assert not cache.even
    assert cache.static == (capacity is not None)


def test_static_keeps_its_shape_and_its_memory() -> None:
    cache = Cache.empty(2, 1, 1, 1, 4, LIKE)
    shape, place = cache.keys_BGSK.shape, cache.keys_BGSK.data_ptr()
    for step in range(4):
        cache = extended(cache, 1, step + 1, Padded.whole(2, 1))
    assert (cache.keys_BGSK.shape, cache.keys_BGSK.data_ptr()) == (shape, place)
    assert held(cache) == [[1, 2, 3, 4], [10, 20, 30, 40]]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_step_too_many_is_an_error(at_once: bool) -> None:
    cache = Cache.empty(2, 1, 1, 1, 3, LIKE)
    for step in range(0 if at_once else 3):
        cache = extended(cache, 1, step, Padded.whole(2, 1))
    count = 4 if at_once else 1
    with pytest.raises(RuntimeError, match="out of bounds"):
        extended(cache, count, 1, Padded.whole(2, count))


def test_padding_beyond_the_capacity_is_no_error() -> None:
    cache = extended(Cache.empty(2, 1, 1, 1, 3, LIKE), 6, 1, Padded.of([3, 1], 6))
    assert held(cache) == [[1, 2, 3], [10]]


def test_one_full_row_stops_the_others_too() -> None:
    cache = extended(Cache.empty(2, 1, 1, 1, 3, LIKE), 3, 1, Padded.of([3, 1]))
    cache = extended(cache, 1, 4, Padded.of([0, 1], 1))
    assert held(cache) == [[1, 2, 3], [10, 40]]
    with pytest.raises(RuntimeError, match="out of bounds"):
        extended(cache, 1, 5, Padded.whole(2, 1))


def test_attention_refuses_a_step_beyond_its_capacity() -> None:
    mixer = SelfAttention(Attention(heads=2), 4, causal=True)
    state = mixer.start(1, capacity=2)
    for _ in range(2):
        _, after = mixer(torch.ones(1, 1, 4), Padded.whole(1, 1), state)
        assert after is not None
        state = after
    with pytest.raises(RuntimeError, match="out of bounds"):
        mixer(torch.ones(1, 1, 4), Padded.whole(1, 1), state)


def test_compressed_attention_refuses_a_group_beyond_its_capacity() -> None:
    mixer = MemoryCompressedAttention(MemoryCompressed(heads=2, factor=2), 4, causal=True)
    _, state = mixer(torch.ones(1, 4, 4), Padded.whole(1, 4), mixer.start(1, capacity=4))
    with pytest.raises(RuntimeError, match="out of bounds"):
        mixer(torch.ones(1, 2, 4), Padded.whole(1, 2), state)


def test_precision_and_width_of_an_empty_cache() -> None:
    cache = Cache.empty(3, 2, 5, 4, 6, torch.empty(0, dtype=torch.float64))
    assert cache.keys_BGSK.shape == (3, 2, 7, 5)
    assert cache.values_BGSK.shape == (3, 2, 7, 4)
    assert cache.keys_BGSK.dtype == torch.float64
    assert cache.lengths_B.tolist() == [0, 0, 0]


def test_joined_caches_are_as_wide_as_the_longest_row() -> None:
    long = extended(Cache.empty(1, 1, 1, 1, None, LIKE), 3, 1, Padded.whole(1, 3))
    fresh = Cache.empty(2, 1, 1, 1, None, LIKE)
    joined = Cache.join([long, fresh])
    assert not joined.even
    joined = extended(joined, 1, 4, Padded.whole(3, 1))
    assert held(joined) == [[1, 2, 3, 4], [40], [400]]
    assert Cache.join([fresh, fresh]).even
    assert Cache.join([extended(fresh, 1, 1, Padded.whole(2, 1)), long]).lengths_B.tolist() == [1, 1, 3]


def test_joining_gives_back_the_places_of_rows_that_left() -> None:
    cache = extended(Cache.empty(2, 1, 1, 1, None, LIKE), 5, 1, Padded.of([5, 1]))
    left = reorder(cache, torch.tensor([1]))
    assert left.keys_BGSK.shape[2] == 5
    joined = Cache.join([left, left])
    assert joined.keys_BGSK.shape[2] == 1
    assert held(joined) == [[10], [10]]


def test_static_caches_join_those_of_their_capacity() -> None:
    one, other = (extended(Cache.empty(1, 1, 1, 1, 4, LIKE), n, 1, Padded.whole(1, n)) for n in (3, 1))
    joined = Cache.join([one, other])
    assert joined.static
    assert held(extended(joined, 1, 9, Padded.whole(2, 1))) == [[1, 2, 3, 9], [1, 90]]
    for misfit in (Cache.empty(1, 1, 1, 1, 5, LIKE), Cache.empty(1, 1, 1, 1, None, LIKE)):
        with pytest.raises(ValueError, match="static caches can only be joined with others of the same capacity"):
            Cache.join([one, misfit])
