"""Where an answer's words came from, by made-up attention."""

import pytest
import torch

from seqloom.jobs.answering.alignment import source_words, word_pairs
from seqloom.text import BPE, Bytes, Characters, PieceSettings, Unigram, Vocabulary, Words

TEXTS = ["the cat sat, on the mat", "näher, so", "a b"] * 20
KINDS: list[PieceSettings] = [
    BPE(size=40),
    BPE(size=300, bytes=True),
    Unigram(size=40),
    Characters(),
    Bytes(),
    Words(),
    Words(split="punctuation"),
]


@pytest.mark.parametrize("settings", KINDS, ids=repr)
@pytest.mark.parametrize("text", ["the cat sat, on", " näher,  so ", "ж cat", "a"])
def test_the_word_of_each_piece(settings: PieceSettings, text: str) -> None:
    """As many words as white space parts, in their order; every piece that is no space is in one."""
    vocabulary = Vocabulary.train(settings, TEXTS)
    (ids,) = vocabulary.encode([text])
    words = source_words(text, vocabulary)
    assert len(words) == len(ids)
    assert sorted(set(words) - {-1}) == list(range(len(text.split())))
    assert [word for word in words if word >= 0] == sorted(word for word in words if word >= 0)
    wrote = vocabulary.word_of(ids)
    assert len(wrote) == len(ids)
    assert sorted(set(wrote) - {-1}) == list(range(len(vocabulary.decode(ids).split())))


def test_pairs() -> None:
    letters = Vocabulary.train(Characters(), TEXTS)
    read, wrote = "ab cd e", "c ba"
    tokens = letters.encode([wrote])[0]
    attention_TS = torch.zeros(len(wrote) + 1, len(read) + 1)
    attention_TS[0, [0, 1, 3, 4]] = torch.tensor([0.3, 0.0, 0.2, 0.2])  # both letters of "cd" together: more than "ab"
    attention_TS[1, 6] = 1.0  # a space is no word, wherever it looked
    attention_TS[2, [6, 7]] = torch.tensor([0.4, 0.6])  # the end mark is no word either
    attention_TS[3, 0] = 0.3
    assert word_pairs(attention_TS, read, tokens, letters, letters) == ((1, 0), (2, 1))
    assert word_pairs(attention_TS[:1], read, [], letters, letters) == ()
