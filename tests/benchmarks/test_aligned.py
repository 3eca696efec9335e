"""Letters and phonemes: which letter has which, and labels that can be read back."""

import gzip
import json
from pathlib import Path

import pytest
from sigmorphon2021_g2p.aligned import Aligner, Names, Passed, align

WORDS = [
    ("ljudi", "ʎ ǔː d i"),
    ("luk", "l û k"),
    ("juha", "j ǔ x a"),
    ("lak", "l â k"),
    ("dah", "d â x"),
    ("ulje", "û ʎ e"),
]
PAIRS = [(letters, tuple(phonemes.split())) for letters, phonemes in WORDS]


def test_letters_have_the_phonemes_that_they_have_elsewhere() -> None:
    aligner = Aligner(PAIRS, 2)
    assert aligner.labels("dak", ("d", "â", "k")) == [("d",), ("â",), ("k",)]
    assert aligner.labels("k", ("k", "s")) == [("k", "s")]  # never seen, and the only way
    assert aligner.labels("k", ("k", "s", "a")) is None


@pytest.mark.parametrize(
    ("passed", "labels"),
    [("nothing", "= =̌ː = _"), ("accent", "= =̌ː ='! _'!"), ("kind", "= =̌ː ='̌ː _'̌ː")],
)
def test_a_label_says_what_is_added_and_what_has_passed(passed: Passed, labels: str) -> None:
    names = Names({"d": "d", "u": "u", "h": "x"}, passed)
    assert " ".join(names.written("duhd", [("d",), ("ǔː",), ("x",), ()])) == labels
    assert names.joined("d u h d", labels) == "d ǔː x"


@pytest.mark.parametrize("whole", [False, True])
def test_labels_are_joined_to_the_phonemes_that_they_were(tmp_path: Path, whole: bool) -> None:
    with gzip.open(tmp_path / "x_train.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{letters}\t{phonemes}\n" for letters, phonemes in WORDS)
    align([str(tmp_path / "x_train.tsv.gz")], tmp_path, 2, whole, "kind")
    names = Names(json.loads((tmp_path / "own.json").read_text(encoding="utf-8")))
    for word, (letters, phonemes) in zip((tmp_path / "x_train.conll").read_text().split("\n\n"), WORDS, strict=True):
        rows = [row.split("\t") for row in word.strip("\n").split("\n")]
        assert "".join(letter for letter, _ in rows) == letters
        assert names.joined(" ".join(letters), " ".join(label for _, label in rows)) == phonemes
