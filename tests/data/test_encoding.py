"""Fields to numbers: each shape's columns, as small as they can be kept."""

import pickle
from typing import Any

import numpy as np
import pytest

from seqloom.data.encoding import ClassEncoder, Encoder, LineEncoder, PairEncoder, TagEncoder, id_type
from seqloom.text import BEGIN, BPE, END, Bytes, Characters, Labels, PieceSettings, Unigram, Vocabulary, Words
from seqloom.text.labels import NONE, UNSEEN

LETTERS = Vocabulary.train(Characters(), ["abc\n"])
WORDS = Vocabulary.train(Words(), ["a b c"])
CASES: list[tuple[Encoder, list[list[Any]]]] = [
    (PairEncoder(LETTERS, WORDS), [["ab", "c"], ["a b", "c"]]),
    (LineEncoder(LETTERS, running=True), [["ab", ""]]),
    (LineEncoder(LETTERS, running=False), [["ab", "c"]]),
    (TagEncoder(LETTERS, Labels(["X", "Y"])), [[["ab", "c"]], [["X", "Z"]]]),
    (ClassEncoder(WORDS, Labels(["X", "Y"])), [["a", "b c"], ["Y", "Z"]]),
]


@pytest.mark.parametrize(("encoder", "fields"), CASES)
def test_columns_are_as_announced_there_and_in_another_process(encoder: Encoder, fields: list[list[Any]]) -> None:
    encoded, again = encoder(fields), pickle.loads(pickle.dumps(encoder))(fields)
    assert {name: column.values_N.dtype for name, column in encoded.items()} == dict(encoder.columns)
    for name, column in encoded.items():
        np.testing.assert_array_equal(column.values_N, again[name].values_N)
        np.testing.assert_array_equal(column.starts, again[name].starts)


def test_two_bytes_where_the_vocabulary_fits() -> None:
    many = [chr(code) for code in range(0x4E00, 0x9FFF)] + [chr(code) for code in range(0x20000, 0x20000 + 50_000)]
    large = Vocabulary.train(Characters(), many)
    assert len(large) > 1 << 16
    assert (id_type(LETTERS), id_type(large)) == (np.uint16, np.int32)
    last = PairEncoder(large, LETTERS)([[many[-1]], ["a"]])["source"]
    assert large.decode(last[0].tolist()) == many[-1]


def test_what_has_no_label_is_below_zero() -> None:
    encoded = TagEncoder(LETTERS, Labels(["X", "Y"]))([[["ab", "c"]], [["Y", "Z"]]])
    assert encoded["target"][0].tolist() == [1, NONE, UNSEEN]
    assert ClassEncoder(WORDS, Labels(["X"]))([["a"], ["Z"]])["target"][0].tolist() == [UNSEEN]


def test_the_end_of_a_line() -> None:
    line_feed = LETTERS.encode(["\n"])[0][0]
    assert LineEncoder(LETTERS, running=True)([["a", ""]])["target"][1].tolist() == [line_feed]
    assert LineEncoder(WORDS, running=True)([["a", ""]])["target"][1].tolist() == [END]
    assert LineEncoder(LETTERS, running=False)([["a", ""]])["target"][1].tolist() == []


LINES = ["the cat sat", "", "  on the mat, ", " so", "the   cat", "the"]
KINDS: list[PieceSettings] = [BPE(size=40), BPE(size=300, bytes=True), Unigram(size=40), Characters(), Bytes()]


@pytest.mark.parametrize("settings", KINDS, ids=repr)
def test_running_text_comes_back(settings: PieceSettings) -> None:
    """Of subwords each line begins with a space that is not the text's: exactly that one goes, and no other."""
    encoder = LineEncoder(Vocabulary.train(settings, [line + "\n" for line in LINES] * 20), running=True)
    ids = encoder([LINES])["target"].values_N.tolist()
    whole = "".join(line + "\n" for line in LINES)
    assert encoder.text(ids) == whole
    assert encoder.begun(whole) == ids
    for begun in ("the cat", "the\n  on", "the\n", "", "\n\n "):
        assert encoder.text(encoder.begun(begun)) == begun
    assert encoder.text([*encoder.before, *encoder.begun("the")]) == "\nthe"


def test_running_words_have_marks_for_line_ends() -> None:
    encoder = LineEncoder(Vocabulary.train(Words(), LINES), running=True)
    assert encoder.before == [END]
    assert encoder.text(encoder([LINES])["target"].values_N.tolist()) == (
        "the cat sat\n\non the mat,\nso\nthe cat\nthe\n"
    )
    assert encoder.text(encoder.begun("the cat\nso")) == "the cat\nso"


def test_documents_begin_with_a_mark() -> None:
    encoder = LineEncoder(LETTERS, running=False)
    assert encoder.before == [BEGIN]
    assert encoder.text(encoder.begun("ab\nc")) == "ab\nc"
