"""Rows of unequal length against lists of lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=6), max_size=8)


def _lists(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


@given(ROWS)
def test_there_and_back(rows: list[list[int]]) -> None:
    assert _lists(Ragged.rows(rows)) == rows


@given(ROWS, st.data())
def test_take(rows: list[list[int]], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    taken = Ragged.rows(rows).take(np.asarray(places, np.int64))
    assert _lists(taken) == [rows[place] for place in places]


@given(ROWS, st.lists(st.integers(100, 110), max_size=3), st.lists(st.integers(200, 210), max_size=3))
def test_framed(rows: list[list[int]], before: list[int], after: list[int]) -> None:
    assert _lists(Ragged.rows(rows).framed(before, after)) == [[*before, *row, *after] for row in rows]


@given(ROWS, st.integers(0, 5))
def test_cut(rows: list[list[int]], longest: int) -> None:
    assert _lists(Ragged.rows(rows).cut(longest)) == [row[:longest] for row in rows]


@given(st.lists(ROWS, min_size=1, max_size=3))
def test_join(parts: list[list[list[int]]]) -> None:
    assert _lists(Ragged.join([Ragged.rows(rows) for rows in parts])) == [row for rows in parts for row in rows]


@given(st.lists(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=6), min_size=1, max_size=8))
def test_two_bytes_stay_two_bytes(rows: list[list[int]]) -> None:
    small = Ragged.rows(rows, np.uint16)
    made = {
        "take": (small.take(np.arange(len(rows))), rows),
        "cut": (small.cut(2), [row[:2] for row in rows]),
        "framed": (small.framed([1], [2]), [[1, *row, 2] for row in rows]),
        "first": (small.without_first(), [row[1:] for row in rows]),
        "last": (small.without_last(), [row[:-1] for row in rows]),
        "reversed": (small.reversed(), [row[::-1] for row in rows]),
        "join": (Ragged.join([small, small]), rows * 2),
    }
    for name, (ragged, wanted) in made.items():
        assert (name, ragged.values_N.dtype, _lists(ragged)) == (name, np.uint16, wanted)
