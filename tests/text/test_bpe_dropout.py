"""BPE with merges left out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.text import BPE, Characters, Vocabulary
from seqloom.text.bpe_dropout import Dropout
from tests.text.corpus import LINES, TEXTS
from tests.text.test_vocabulary import EDGES


def trained(dropout: float, **other: bool) -> Vocabulary:
    return Vocabulary.train(BPE(size=500, dropout=dropout, **other), TEXTS)


HALF = trained(0.5)


@pytest.mark.parametrize("vocabulary", [trained(1e-12), trained(1e-12, bytes=True)], ids=["characters", "bytes"])
@given(text=st.text(max_size=40) | st.sampled_from(LINES + EDGES) | st.text("theo quick", max_size=60))
def test_without_drops_it_is_what_tokenizers_gives(vocabulary: Vocabulary, text: str) -> None:
    texts = [text, *LINES]
    assert vocabulary.encode_dropout(texts, range(len(texts))) == vocabulary.encode(texts)


def test_without_dropout_the_seed_says_nothing() -> None:
    for vocabulary in (trained(0), Vocabulary.train(Characters(), TEXTS)):
        assert vocabulary.encode_dropout(LINES, range(len(LINES))) == vocabulary.encode(LINES)


def test_near_one_only_characters_are_left() -> None:
    (ids,) = trained(0.999999).encode_dropout(["the quick dog"], [0])
    assert HALF.pieces(ids) == list("▁the▁quick▁dog")


@given(seeds=st.lists(st.integers(0, 2**63), min_size=2, max_size=5))
def test_a_text_depends_on_its_seed_alone(seeds: list[int]) -> None:
    text = LINES[0]
    together = HALF.encode_dropout([text] * len(seeds), seeds)
    fresh = Vocabulary(HALF.settings, HALF._text)
    assert together == [fresh.encode_dropout([text], [seed])[0] for seed in reversed(seeds)][::-1]


def test_seeds_differ_and_the_text_comes_back() -> None:
    cut = HALF.encode_dropout([LINES[0]] * 20, range(20))
    assert len(set(map(tuple, cut))) == 20
    assert set(HALF.decode_many(cut)) == {LINES[0]}


def test_a_known_cut_stays() -> None:
    """Runs are continued exactly, so this must never change. Draws below 1/2 drop; seed 1 draws 0.13, 0.85, …"""
    merges = {(0, 1): (0, 10), (10, 2): (1, 11), (1, 2): (2, 12)}
    dropout = Dropout(merges, 0.5, lambda text: [["abc".index(letter) for letter in text]])
    assert [dropout.encode(["abc"], seed) for seed in range(6)] == [[11], [0, 12], [11], [0, 12], [0, 1, 2], [11]]


def test_how_often_each_cut_comes() -> None:
    """abc with ab, then ab·c, else bc: by hand with p = 1/2 at each step (algorithm 1)."""
    merges = {(0, 1): (0, 10), (10, 2): (1, 11), (1, 2): (2, 12)}
    dropout = Dropout(merges, 0.5, lambda text: [["abc".index(letter) for letter in text]])
    drawn = Counter(tuple(dropout.encode(["abc"], seed)) for seed in range(8000))
    chances = {(11,): 0.25, (10, 2): 0.25, (0, 12): 0.25, (0, 1, 2): 0.25}
    assert drawn.keys() == chances.keys()
    assert all(abs(drawn[cut] / 8000 - chance) < 0.02 for cut, chance in chances.items())


def test_as_many_seeds_as_texts() -> None:
    with pytest.raises(ValueError, match="2 texts need as many seeds, not 1"):
        HALF.encode_dropout(["a", "b"], [1])
