"""What phrases save by sharing tokens: 2 3 and 3 4 both stand in 2 3 4."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seqloom.generation.automaton import Phrase

MOST = 8
"""Phrases whose every order is looked at; more are counted as if none overlapped."""


@lru_cache(maxsize=4096)
def savings(phrases: tuple[Phrase, ...]) -> NDArray[np.int64]:
    """saved[p][rest]: tokens that are shared at most, where behind phrase p come those of `rest`, a bit each.

    No phrase stands within another, so that only neighbours share. Held and Karp 1962 find the best order so.
    """
    count = len(phrases)
    shared = [[overlap(one, other) for other in phrases] for one in phrases]
    if count > MOST or not any(shared[p][q] for p in range(count) for q in range(count) if p != q):
        return np.zeros((count, 1), np.int64)
    saved = np.zeros((count, 1 << count), np.int64)
    for rest in range(1, 1 << count):
        behind = [q for q in range(count) if rest >> q & 1]
        for p in range(count):
            saved[p, rest] = max(shared[p][q] + saved[q, rest ^ 1 << q] for q in behind)
    return saved


def overlap(one: Phrase, other: Phrase) -> int:
    """So many of the last tokens of the one are the first of the other; never all of them."""
    most = min(len(one), len(other)) - 1
    return next((n for n in range(most, 0, -1) if one[-n:] == other[:n]), 0)
