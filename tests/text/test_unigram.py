"""The unigram model's pieces."""

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.text.lattice import Lattice
from seqloom.text.specials import SPECIALS
from seqloom.text.unigram import learn_unigram


def own(words: dict[str, int], size: int) -> dict[str, float]:
    pieces = learn_unigram(Counter(words), size)
    assert tuple(piece for piece, _ in pieces[:5]) == SPECIALS
    return dict(pieces[5:])


def test_expected_uses_by_hand() -> None:
    """Of "ab" there are two cuts, a·b with 0.4 · 0.3 and ab with 0.2."""
    at = np.full((2, 2), -1, np.int32)
    at[0] = [0, 2]
    at[1, 0] = 1
    lattice = Lattice(at, np.array([0]), np.array([2]))
    scores = np.log([0.4, 0.3, 0.2])
    np.testing.assert_allclose(
        lattice.expected(scores, np.array([10.0])), [10 * 0.12 / 0.32, 10 * 0.12 / 0.32, 10 * 0.2 / 0.32]
    )
    np.testing.assert_allclose(lattice.best(scores), [log(0.2)])
    np.testing.assert_allclose(Lattice(at, np.array([0]), np.array([2]), whole=False).best(scores), [log(0.12)])


@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=4))
def test_expected_uses_against_all_cuts(words: list[str]) -> None:
    text = "".join(words)
    pieces = sorted({text[i : i + n] for i in range(len(text)) for n in (1, 2, 3) if i + n <= len(text)})
    scores = -0.1 * np.arange(1, len(pieces) + 1)
    at = np.array(
        [[pieces.index(text[i : i + n]) if i + n <= len(text) else -1 for n in (1, 2, 3)] for i in range(len(text))]
    )
    lengths = np.array([len(word) for word in words])
    counts = np.arange(1.0, len(words) + 1)
    expected = Lattice(at.astype(np.int32), np.cumsum(lengths) - lengths, lengths).expected(scores, counts)
    slow = np.zeros(len(pieces))
    for word, count in zip(words, counts, strict=True):
        cuts = [[pieces.index(part) for part in cut] for cut in _cuts(word)]
        weights = np.exp([scores[cut].sum() for cut in cuts])
        for cut, weight in zip(cuts, weights / weights.sum(), strict=True):
            np.add.at(slow, cut, weight * count)
    np.testing.assert_allclose(expected, slow)


def _cuts(word: str) -> list[list[str]]:
    if not word:
        return [[]]
    return [[word[:n], *rest] for n in (1, 2, 3) if n <= len(word) for rest in _cuts(word[n:])]


def test_frequent_words_become_pieces() -> None:
    pieces = own({" walk": 50, " talk": 40, " walking": 20, " talking": 20, " singing": 20, " sing": 30}, 30)
    assert {" walk", " talk", " sing", "ing"} <= set(pieces)
    assert pieces[" walk"] > pieces["ing"] > pieces["w"]


@pytest.mark.parametrize("size", [6, 8, 12, 20])
def test_the_size_holds_and_frequent_characters_stay(size: int) -> None:
    pieces = own({"aaaa": 9, "bb": 5, "c": 4, "d\0": 1, "abcd": 3}, size)
    assert len(pieces) <= size - 5
    assert "a" in pieces
    assert size < 12 or set("abcd\0") <= set(pieces)


def test_no_character_is_lost_with_rare_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.text.unigram.CHARACTERS", 4)
    assert set("abxyz") <= set(own({"abab": 9, "xyz": 1}, 20))


def test_scores_are_probabilities() -> None:
    pieces = own({"abab": 5, "ab": 3, "ba": 2}, 100)
    assert sum(np.exp(list(pieces.values()))) == pytest.approx(1, abs=0.05)
