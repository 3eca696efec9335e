"""What a vocabulary is learnt from."""

from collections import Counter

import pytest
from tokenizers import models

from seqloom.settings import UserError
from seqloom.text import BPE, Characters, Normalise, PieceSettings, Unigram, Vocabulary, Words
from seqloom.text.learning import count_characters
from seqloom.text.sample import take_sample
from seqloom.text.tokenizer import build_tokenizer
from tests.text.corpus import name

learnt = pytest.mark.parametrize("kind", [Characters(), Words(), BPE(), Unigram()], ids=name)


@learnt
def test_nothing_to_learn_from(kind: PieceSettings) -> None:
    with pytest.raises(UserError, match="there are none; give texts"):
        Vocabulary.train(kind, [])
    with pytest.raises(UserError, match="all 2 texts are empty"):
        Vocabulary.train(kind, ["", " \n"])


@learnt
def test_progress_hears_how_many(kind: PieceSettings) -> None:
    heard: list[int] = []
    Vocabulary.train(kind, ["a b"] * 2500, heard.append)
    assert heard == [1000, 2000, 2500]


@learnt
def test_half_a_surrogate_pair_is_told(kind: PieceSettings) -> None:
    with pytest.raises(UserError, match="text 2: half a surrogate pair"):
        Vocabulary.train(kind, ["a", "\udc00"])


def test_bpe_merges_the_most_frequent_pair() -> None:
    vocabulary = Vocabulary.train(BPE(size=9), ["ab ab ab"])  # five specials, " ", "a", "b": room for one merge
    assert vocabulary.pieces(range(5, 9)) == ["▁", "a", "b", "▁a"]


def test_equal_counts_are_settled_by_the_ids() -> None:
    texts = [f"{left}{right}" for left in "dcba" for right in "hgfe"]
    assert len({Vocabulary.train(BPE(size=18), order).fingerprint for order in (texts, texts[::-1])}) == 1


def test_the_most_frequent_characters_stay() -> None:
    vocabulary = Vocabulary.train(BPE(size=8), ["aab", "zy"])
    assert vocabulary.pieces(range(5, 8)) == ["▁", "a", "b"]


@pytest.mark.parametrize("form", ["none", "nfc", "nfkc"])
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("spaces", ["keep", "collapse"])
@pytest.mark.parametrize("kind", [Characters(), BPE(size=300)], ids=name)
def test_characters_are_counted_as_one_by_one(kind: PieceSettings, form: str, lowercase: bool, spaces: str) -> None:
    normalise = Normalise.model_validate({"form": form, "lowercase": lowercase, "spaces": spaces})
    settings = kind.model_copy(update={"normalise": normalise})
    texts = ["Hello  World ", "a\tB\n", "Grüße", "e\u0301 ﬁ", "日本 \U0001f600"] * 2000
    normaliser = build_tokenizer(settings, models.BPE()).normalizer
    one_by_one: Counter[str] = Counter()
    for text in texts:
        one_by_one.update(normaliser.normalize_str(text))
    assert count_characters(settings, texts) == one_by_one


def test_a_sample_is_bounded_and_the_same() -> None:
    texts = [f"{number:04}" for number in range(1000)]
    assert take_sample(texts, 4000) == texts
    assert take_sample(texts, 3999) == texts[::2]
    assert take_sample(texts, 1000) == texts[::4]
    assert take_sample(["long" * 99], 10) == ["long" * 99]
