"""More pieces, behind those that there are."""

import pytest

from seqloom.settings import UserError
from seqloom.text import BPE, Bytes, Characters, PieceSettings, Unigram, Vocabulary, Words

OLD = ["the cat sat on the mat", "a dog ran to the cat"] * 20
NEW = ["the zebra sat behind the quixotic zebra", "zebras éat zebra grass"] * 10
KINDS = [Characters(), Words(), BPE(size=60), BPE(size=300, bytes=True), Unigram(size=60)]


@pytest.mark.parametrize("settings", KINDS, ids=lambda one: f"{one.kind}{'-bytes' if getattr(one, 'bytes', 0) else ''}")
def test_old_pieces_keep_their_ids(settings: PieceSettings) -> None:
    old = Vocabulary.train(settings, OLD)
    new = old.extended(NEW, 20)
    assert new.names[: len(old)] == old.names
    assert len(old) < len(new) <= len(old) + 20
    assert new.encode(OLD) == old.encode(OLD)
    assert [new.decode(ids) for ids in new.encode(NEW)] == NEW
    assert new.unknown(NEW)[0] == 0
    assert sum(map(len, new.encode(NEW))) <= sum(map(len, old.encode(NEW)))
    assert new == old.extended(NEW, 20)


def test_no_more_than_asked_for_and_the_most_frequent() -> None:
    old = Vocabulary.train(Words(), OLD)
    assert old.extended(NEW, 1).names[len(old) :] == ("zebra",)


def test_merges_are_those_that_would_come_next() -> None:
    """The most frequent neighbours first, each round on what the last has joined."""
    letters = Vocabulary.train(BPE(size=9), ["aab aab aab ab ab b"])
    assert letters.names[5:] == (" ", "a", "b", " a")
    assert letters.extended(["aab aab aab ab ab b"], 3).names[9:] == (" aa", " aab", " ab")
    whole = letters.extended(["aab aab aab ab ab b"], 100)
    assert whole.names[9:] == (" aa", " aab", " ab")  # " b" would be used once
    assert [len(ids) for ids in whole.encode(["aab", "ab", "b"])] == [1, 1, 2]


def test_bytes_know_all() -> None:
    with pytest.raises(UserError, match=r"text.extend: a vocabulary of bytes knows all there are"):
        Vocabulary.train(Bytes(), OLD).extended(NEW, 5)


def test_dropout_may_differ() -> None:
    old = Vocabulary.train(BPE(size=60), OLD)
    other = old.cut_by(BPE(size=60, dropout=0.1))
    assert other is not None
    assert other.names == old.names
    assert other.settings == BPE(size=60, dropout=0.1)
    assert old.cut_by(BPE(size=61)) is None
    assert old.cut_by(Characters()) is None
