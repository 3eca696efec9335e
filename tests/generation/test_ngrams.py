"""Tokens that would repeat an n-gram, against a plain loop."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation.ngrams import repeated


def plainly(row: list[int], n: int, size: int) -> set[int]:
    held = {tuple(row[at : at + n]) for at in range(len(row) - n + 1)}
    return {token for token in range(size) if (*row[len(row) - n + 1 :], token)[-n:] in held and len(row) >= n - 1}


@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=4), st.integers(1, 5), st.integers(0, 2))
def test_the_same_as_a_plain_loop(rows: list[list[int]], n: int, more: int) -> None:
    wide = max(map(len, rows), default=0) + more
    # what stands behind the end is a token too
    tokens_RT = torch.tensor([[*row, *[1] * (wide - len(row))] for row in rows]).reshape(len(rows), wide).long()
    found = repeated(tokens_RT, torch.tensor([len(row) for row in rows], dtype=torch.long), n)
    pairs = set(zip(*(part.tolist() for part in found), strict=True))
    assert pairs == {(number, token) for number, row in enumerate(rows) for token in plainly(row, n, 3)}


def test_an_example() -> None:
    rows, tokens = repeated(torch.tensor([[4, 5, 6, 4, 5], [4, 5, 6, 4, 0]]), torch.tensor([5, 4]), 3)
    assert (rows.tolist(), tokens.tolist()) == ([0], [6])


def test_an_n_gram_has_a_token() -> None:
    with pytest.raises(ValueError, match="at least one token, not 0"):
        repeated(torch.zeros(1, 1).long(), torch.tensor([1]), 0)
