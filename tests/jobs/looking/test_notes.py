"""What is told beside an answer."""

import pytest

import seqloom
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.notes import unknown
from seqloom.text import Characters, Vocabulary, Words
from tests.jobs.asked_runs import Runs


@pytest.mark.parametrize(
    ("kind", "text", "strange"),
    [
        (Words(), "the dog sees the zebra and zebra", ["zebra", "and"]),
        (Words(), "the dog", []),
        (Characters(), "the dög ö", ["ö"]),
        (Characters(), "", []),
    ],
)
def test_what_the_vocabulary_does_not_have(kind: Words | Characters, text: str, strange: list[str]) -> None:
    vocabulary = Vocabulary.train(kind, ["the dog sees the dog"] * 3)
    assert unknown(text, vocabulary) == strange


def test_many_are_counted(runs: Runs) -> None:
    (note,) = Look(seqloom.load(runs["pairs"]), LookRequest("abcαβγδεζη")).answer().notes
    assert note == "the vocabulary has no 'α', 'β', 'γ', 'δ', 'ε' and 2 more: the model reads <unk> instead"


def test_what_is_left_out(runs: Runs) -> None:
    """A run with twelve positions."""
    (note,) = Look(seqloom.load(runs["short"]), LookRequest("abcdefgh" * 3)).answer().notes
    assert note.endswith("tokens of the input are left out: the model does not read so many")
