"""What a file is to be read as, where its name does not say."""

from pathlib import Path

import pytest

from seqloom.data.reading import shape_of
from seqloom.data.settings import Corpus

BIO = "Anna\tB-PER\nlives\tO\nin\tO\nParis\tB-LOC\n\nBob\tB-PER\nsleeps\tO\n"
OWN_TAGS = ("das\tART\nHaus\tNN\nsteht\tVVFIN\n.\t$.\n\n" * 8).rstrip("\n") + "\n"


def shape(path: Path, text: str, **how: str) -> str:
    path.write_bytes(text.encode())
    return shape_of(Corpus.model_validate({"files": (str(path),), **how}))


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a"])
@pytest.mark.parametrize(
    "text",
    [BIO, BIO.replace("\n", "\r\n"), "-DOCSTART-\tO\n\n" + BIO, OWN_TAGS, "the\tDET\ncat\tNOUN\n\nit\tPRON\nis\tAUX\n"],
    ids=["BIO", "CRLF", "a document", "own tags", "universal"],
)
def test_a_word_and_its_tag_on_each_line(tmp_path: Path, name: str, text: str) -> None:
    assert shape(tmp_path / name, text) == "tags"


def test_with_spaces_between_them(tmp_path: Path) -> None:
    assert shape(tmp_path / "a.txt", BIO.replace("\t", " ")) == "tags"
    assert shape(tmp_path / "b.txt", BIO.replace("\t", " NN ")) == "tags"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tsv", "Haus\thouse\nKatze\tcat\n\nHund\tdog\nBaum\ttree\n", "pairs"),
        ("a.txt", "das Haus\tthe house\n\ndie Katze\tthe cat\n", "pairs"),
        ("a.tsv", "a good film\tgood\n\na bad film\tbad\n" * 20, "pairs"),
        ("a.tsv", BIO.replace("\n\n", "\n"), "pairs"),
        ("a.txt", "good morning\nblue sky\n\ngood night\nold moon\n" * 20, "text"),
        ("a.txt", "O O\nO O\n\nO O\n", "text"),
        ("a.txt", "", "text"),
    ],
)
def test_other_files_are_not(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert shape(tmp_path / name, text) == expected


def test_who_names_the_source_means_pairs(tmp_path: Path) -> None:
    assert shape(tmp_path / "a.tsv", BIO, source="1", target="2") == "pairs"
