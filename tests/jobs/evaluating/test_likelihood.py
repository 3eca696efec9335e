"""What a vocabulary cannot write: bits per character would be had for nothing there."""

import pytest

from seqloom.jobs.evaluating.likelihood import Likelihood, lost_characters
from seqloom.text import Bytes, Characters, Vocabulary, Words
from seqloom.text.settings import Normalise, PieceSettings

TEXTS = ["good film", "so good"]
SMALL = Normalise(lowercase=True)


@pytest.mark.parametrize(
    ("settings", "text", "lost"),
    [
        (Words(), "good  film, so", 5),  # a word of its own
        (Words(), "good  film so", 0),
        (Words(), "good book", 4),
        (Words(normalise=SMALL), "Good film", 1),
        (Characters(), "good zoo", 1),
        (Characters(), "good\tfilm", 1),
        (Characters(normalise=SMALL), "GOOD film", 4),
        (Bytes(), "Zo\u0308e 字", 0),  # an accent of its own is joined to its letter
        (Bytes(normalise=Normalise(form="nfkc")), "ﬁlm", 1),
    ],
)
def test_what_is_lost(settings: PieceSettings, text: str, lost: int) -> None:
    vocabulary = Vocabulary.train(settings, TEXTS)
    assert lost_characters(vocabulary, ["good", text]) == [0, lost]


def test_the_fault_is_told() -> None:
    likely = Likelihood([-3.0], [2.0], [40.0], "words", 3)
    assert likely.fault == "no bits/char: 7.5 % of the characters cannot be written by its vocabulary"
    assert Likelihood([-3.0], [2.0], [40.0]).fault is None
