"""What a file is to be read as, where its name does not say."""

from pathlib import Path

import pytest

from seqloom.data.reading import shape_of
from seqloom.data.reading.format_choice import format_of
from seqloom.data.settings import Corpus

BIO = "Anna\tB-PER\nlives\tO\nin\tO\nParis\tB-LOC\n\nBob\tB-PER\nsleeps\tO\n"
OWN_TAGS = ("das\tART\nHaus\tNN\nsteht\tVVFIN\n.\t$.\n\n" * 12).rstrip("\n") + "\n"


CLASSES = "".join(f"w{i}\t{'pos' if i % 3 else 'neg'}\n" for i in range(20))


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


@pytest.mark.parametrize(
    "text",
    [
        OWN_TAGS.replace("Haus", "ein Haus", 1),
        "der\tART.Nom.Sg\nHund\tNN.Nom.Sg\nbellt\tVVFIN.3.Sg\n\ndie\tART.Nom.Sg.Fem\nKatze\tNN.Nom.Sg.Fem\n",
        "EU\tNNP\nrejects\tVBZ\n\nGerman\tJJ\ncall\tNN\n",
        "words\tword\nsaid\tsay\n\nmore\tmuch\nwent\tgo\n" * 20,
        "EU\tO\nrejects\tO\n\nGerman\tO\ncall\tO\n",
    ],
    ids=["a word with a space", "many kinds", "few lines", "lemmas", "no spans"],
)
def test_words_with_tags_of_any_kind_in_text(tmp_path: Path, text: str) -> None:
    assert shape(tmp_path / "a.txt", text) == "tags"


@pytest.mark.parametrize("name", ["a.tsv", "a.txt"])
@pytest.mark.parametrize("blank", ["\n\n", "\n \n", "\n\t\n", "\n \r\n\n"])
def test_a_blank_line_with_spaces_parts_sentences(tmp_path: Path, name: str, blank: str) -> None:
    assert shape(tmp_path / name, BIO.replace("\n\n", blank)) == "tags"
    assert format_of(Corpus(files=(str(tmp_path / name),)), "tags") == "conllu"


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
        ("a.tsv", f"{CLASSES}\n{CLASSES}", "pairs"),
        ("a.tsv", f"text\tlabel\n\n{CLASSES}", "pairs"),
        ("a.tsv", "".join(f"w{i}\tpos\nv{i}\tneg\n\n" for i in range(40)), "pairs"),  # no word twice
        ("a.tsv", f"{CLASSES * 4}\n" * 12, "pairs"),  # too long for sentences
        ("a.tsv", CLASSES.replace("\n", "\n\n") * 12, "pairs"),  # too short
        ("a.tsv", "go\twent\tV;PST\ngo\tgoes\tV;PRS\n\n" * 40, "pairs"),
        ("a.txt", "Haus\thouse\n\t\nHund\tdog\n", "pairs"),
        ("a.txt", "Haus\thouse\nHund\tdog\n\n \n", "pairs"),
        ("a.txt", "hello world\tbonjour monde\nhi\tsalut\n\nbye\tau revoir\n", "pairs"),
        ("a.txt", "X O X\nO X X\n\n" * 20, "text"),
        ("a.txt", "good morning\nblue sky\n\ngood night\nold moon\n" * 20, "text"),
        ("a.txt", "O O\nO O\n\nO O\n", "text"),
        ("a.txt", "", "text"),
    ],
)
def test_other_files_are_not(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert shape(tmp_path / name, text) == expected


def test_who_names_the_source_means_pairs(tmp_path: Path) -> None:
    assert shape(tmp_path / "a.tsv", BIO, source="1", target="2") == "pairs"


def test_targets_that_are_numbers_are_classes(tmp_path: Path) -> None:
    """Most of them: of text with one number, it is the number that is told."""
    file = tmp_path / "a.jsonl"
    for label in "1", "true":
        assert shape(file, f'{{"text": "a b", "label": {label}}}\n' * 9) == "classes"
        assert (
            shape(file, f'{{"id": "i", "text": "a b", "stars": {label}}}\n', source="text", target="stars") == "classes"
        )
    assert shape(file, '{"text": "a b", "label": 1.5}\n' * 9) == "pairs"
    assert shape(file, '{"source": "a", "target": "b"}\n' * 9 + '{"source": "a", "target": 1}\n') == "pairs"
    assert shape(file, '{"x": "a", "y": "b", "z": 1}\n' * 9) == "pairs"


def test_numbers_among_words_with_tags(tmp_path: Path) -> None:
    assert shape(tmp_path / "a.jsonl", '{"tokens": ["route", 66], "tags": ["N", "C"]}\n') == "tags"
    assert shape(tmp_path / "a.jsonl", '{"source": [1, 2], "target": [2, 1]}\n') == "pairs"


def test_a_first_object_that_lacks_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    assert shape(file, '{"text": "a"}\n' + '{"text": "a", "label": 1}\n' * 3) == "classes"
    assert shape(file, '{"tokens": ["a"]}\n' + '{"tokens": ["a"], "tags": ["X"]}\n' * 3) == "tags"
