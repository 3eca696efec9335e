"""Whole words are found as text, however they were cut."""

import pytest

from seqloom.jobs.answering.forbidden_text import ForbiddenText
from seqloom.text import BPE, Characters, Vocabulary

TEXTS = ["a dog, a hot dog and dogs", "漢字の本", "New York."] * 20


@pytest.mark.parametrize(
    ("phrase", "text", "held"),
    [
        ("dog", "a dog", True),
        ("dog", "dog, no", True),
        ("dog", "dogs and hotdog", False),
        ("hot dog", "a hot dog.", True),
        ("hot dog", "a hot dogs", False),
        (".", "New York.", True),
        ("漢字", "の漢字の本", True),
    ],
)
def test_words(phrase: str, text: str, held: bool) -> None:
    vocabulary = Vocabulary.train(BPE(size=80), TEXTS)
    forbidden = ForbiddenText.of([phrase], vocabulary)
    assert forbidden.held(text) == ((phrase,) if held else ())


def test_characters_are_found_everywhere() -> None:
    vocabulary = Vocabulary.train(Characters(), TEXTS)
    forbidden = ForbiddenText.of(["og", " a"], vocabulary)
    assert forbidden.held("dogs and") == ("og", " a")
    assert forbidden.held("a") == ()
