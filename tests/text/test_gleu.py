"""Sentence GLEU, against a number worked by hand and against nltk's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.text.gleu import ngrams, sentence_gleu

gleu_score = pytest.importorskip("nltk.translate.gleu_score")

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def _gleu(said: str, wanted: str) -> float:
    return sentence_gleu(ngrams(said.split()), ngrams(wanted.split()))


def test_worked_by_hand() -> None:
    """Said: 3 words, 2 pairs, 1 triple; wanted: 4, 3, 2, 1. In common: the, cat; "the cat"."""
    assert _gleu("the cat sat", "the cat is here") == 3 / 10  # recall is the lesser
    assert _gleu("the cat is here", "the cat sat") == 3 / 10  # precision is


def test_a_word_counts_as_often_as_it_is_wanted() -> None:
    assert _gleu("a a a", "a b c") == 1 / 6


@pytest.mark.parametrize(("said", "wanted", "score"), [("a b", "a b", 1), ("", "a", 0), ("a", "", 0), ("", "", 1)])
def test_ends(said: str, wanted: str, score: float) -> None:
    assert _gleu(said, wanted) == score


@given(WORDS, WORDS)
def test_as_nltk_counts(said: list[str], wanted: list[str]) -> None:
    theirs = gleu_score.sentence_gleu([wanted], said)
    both = said or wanted  # of two empty sentences it says 0
    assert sentence_gleu(ngrams(said), ngrams(wanted)) == pytest.approx(theirs if both else 1.0)
