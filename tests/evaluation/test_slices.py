"""Slices hold every example once."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.evaluation.slices import by_length, by_unknown


@given(lengths=st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_every_example_is_in_one_slice(lengths: list[int]) -> None:
    found = by_length(lengths, "words")
    assert sorted(np.concatenate([each.rows for each in found]).tolist()) == list(range(len(lengths)))
    assert len(found) <= 4
    ends = [(min(lengths[row] for row in each.rows), max(lengths[row] for row in each.rows)) for each in found]
    assert all(one[1] < other[0] for one, other in pairwise(ends))


def test_names_say_the_lengths_that_there_are() -> None:
    found = by_length([1, 2, 2, 3, 5, 8, 9, 1200], "words")
    assert [(each.name, each.rows.tolist()) for each in found] == [
        ("1–2", [0, 1, 2]),
        ("3", [3]),
        ("5–8", [4, 5]),
        ("9–1,200", [6, 7]),
    ]
    assert [each.name for each in by_length([4, 4, 4], "words")] == ["4"]
    assert by_length([], "words") == []


def test_unknown_words() -> None:
    found = by_unknown([0, 3, 1, 0, 7], "unknown")
    assert [(each.name, each.rows.tolist()) for each in found] == [("0", [0, 3]), ("1", [2]), ("3+", [1, 4])]
