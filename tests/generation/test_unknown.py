"""Unknown words replaced through the attention."""

import pytest
import torch
from torch import Tensor

from seqloom.generation.unknown import decode_replacing, replace_unknown
from seqloom.text import BPE, UNKNOWN, Bytes, Characters, Normalise, PieceSettings, Unigram, Vocabulary, Words

KNOWN = ["the cat sat on the mat", "a dog and a cat met here"] * 3


def looking(*at: int, wide: int) -> Tensor:
    """Each row looks at one position most, and a little at the others."""
    return torch.full((len(at), wide), 0.2 / wide) + 0.8 * torch.nn.functional.one_hot(torch.tensor(at), wide)


def test_the_word_that_was_looked_at_most() -> None:
    attention = torch.tensor([[1.0, 0, 0, 0], [0, 0.2, 0.5, 0.3], [0.4, 0.3, 0.3, 0.0]])
    pieces, words = ["der", "?", "?"], ["the", "Obama", "spoke"]
    assert replace_unknown(pieces, [1, 2], attention, words, [0, 1, 2, -1]) == ["der", "spoke", "the"]
    assert replace_unknown(pieces, [1], attention, words, [0, 1, 2], {"spoke": "sprach"})[1] == "sprach"
    # two positions of one word count together; the lexicon lacks it
    assert replace_unknown(pieces, [2], attention, words, [0, 1, 1], {"spoke": "sprach"})[2] == "Obama"


def test_what_looked_at_nothing_stays() -> None:
    assert replace_unknown(["?"], [0], torch.zeros(1, 2), ["a"], [0, 0]) == ["?"]
    assert replace_unknown(["?"], [0], torch.ones(1, 2), ["a"], [-1, -1]) == ["?"]
    assert replace_unknown(["?"], [0], torch.zeros(1, 0), [], []) == ["?"]


@pytest.mark.parametrize("pieces", [Words(), BPE(size=60), Unigram(size=60), Characters(), Bytes()])
def test_a_word_vocabulary_copies_words_whatever_the_source_is_cut_into(pieces: PieceSettings) -> None:
    source, target = Vocabulary.train(pieces, KNOWN), Vocabulary.train(Words(), KNOWN)
    text = "the cat saw Zoë's mat"
    normal, places = source.places(text)
    name = next(at for at, (first, _) in enumerate(places) if first >= normal.index("Zoë"))
    tokens = [*target.encode(["the cat"])[0], UNKNOWN, *target.encode(["mat"])[0]]
    # one position more than the text has: the end mark
    attention = looking(0, 0, name, 0, wide=len(places) + 1)
    assert decode_replacing(target, tokens, attention, source, text) == "the cat Zoë's mat"
    assert decode_replacing(target, tokens, attention, source, text, {"Zoë's": "Zoës"}) == "the cat Zoës mat"
    end = looking(0, 0, len(places), 0, wide=len(places) + 1)
    assert decode_replacing(target, tokens, end[:, -1:], source, "").split() == ["the", "cat", "⁇", "mat"]


def test_a_word_vocabulary_that_splits_punctuation_copies_such_words() -> None:
    split = Vocabulary.train(Words(split="punctuation"), KNOWN)
    assert decode_replacing(split, [UNKNOWN], looking(1, wide=3), split, "cat Zoë!") == "Zoë"
    assert decode_replacing(split, [UNKNOWN], looking(2, wide=3), split, "cat Zoë!") == "!"


@pytest.mark.parametrize("pieces", [BPE(size=60), Characters()])
def test_pieces_copy_the_unknown_characters(pieces: PieceSettings) -> None:
    vocabulary = Vocabulary.train(pieces, KNOWN)
    text = "the mat Жt"
    (tokens,) = vocabulary.encode([text])
    assert tokens.count(UNKNOWN) == 1
    # it looks beside the unknown character, the only one that can be meant
    attention = looking(*[0] * len(tokens), wide=len(tokens) + 1)
    assert decode_replacing(vocabulary, tokens, attention, vocabulary, text) == text
    copied = decode_replacing(vocabulary, tokens, attention, vocabulary, "cat")
    assert copied in ("the mat catt", "the mat ct")


def test_unigram_copies_what_is_unknown_together() -> None:
    vocabulary = Vocabulary.train(Unigram(size=60), KNOWN)
    text = "the ЖЖЖ cat ЩЩ"
    (tokens,) = vocabulary.encode([text])
    assert decode_replacing(vocabulary, tokens, torch.eye(len(tokens)), vocabulary, text) == text


def test_what_is_copied_is_normalised() -> None:
    lower = Vocabulary.train(Words(normalise=Normalise(lowercase=True)), KNOWN)
    assert decode_replacing(lower, [UNKNOWN], looking(1, wide=2), lower, "the ZOE\u0308") == "zoë"


def test_without_unknown_tokens_it_is_plain_decoding() -> None:
    words = Vocabulary.train(Words(), KNOWN)
    (tokens,) = words.encode(["the dog"])
    assert decode_replacing(words, tokens, torch.zeros(2, 0), words, "") == "the dog"
