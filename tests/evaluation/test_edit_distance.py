"""Distances are those of rapidfuzz."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq, Levenshtein

from seqloom.evaluation.edit_distance import common_length, edit_distance


@given(one=st.text("abc", max_size=80), other=st.text("abcd", max_size=80))
def test_distances(one: str, other: str) -> None:
    assert edit_distance(one, other) == Levenshtein.distance(one, other)
    assert common_length(one, other) == LCSseq.similarity(one, other)
