"""Words with their letters."""

from seqloom.text import UNKNOWN, Normalise, Vocabulary, Words
from seqloom.text.spelling import LONGEST, spelled

KNOWN = Vocabulary.train(Words(), ["the cat sat", "the mat"])


def _words(*words: str) -> list[tuple[int, bytes]]:
    ids, word_of = spelled(KNOWN, words)
    rows = [[id for id, of in zip(ids, word_of, strict=True) if of == number] for number in range(len(words))]
    return [(first, bytes(id - len(KNOWN) for id in letters)) for first, *letters in rows]


def test_a_word_and_its_bytes() -> None:
    cat = KNOWN.names.index("cat")
    assert _words("cat", "dog", "é") == [(cat, b"cat"), (UNKNOWN, b"dog"), (UNKNOWN, "é".encode())]


def test_each_word_has_exactly_one_id_of_a_word() -> None:
    """Also one that is empty, or two words to the vocabulary."""
    assert [first for first, _ in _words("", "the cat", "\u00a0", "the")] == [UNKNOWN] * 3 + [KNOWN.names.index("the")]


def test_letters_are_as_they_stand_there() -> None:
    lower = Vocabulary.train(Words(normalise=Normalise(lowercase=True)), ["the cat"])
    ids, _ = spelled(lower, ["The"])
    assert ids[0] == lower.names.index("the")
    assert bytes(id - len(lower) for id in ids[1:]) == b"The"


def test_of_a_long_word_its_ends() -> None:
    ((_, letters),) = _words("a" * 50 + "b" * 50)
    assert letters == b"a" * (LONGEST // 2) + b"b" * (LONGEST // 2)
