"""Word vectors from files: every form that is met in the wild, and what is said of broken ones."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.layers.embedding import TokenEmbedding, Tokens
from seqloom.layers.word_vectors import WordVectorsError, read_word_vectors, start_from_file

WORDS = {"the": [0.5, -1.0, 2.0], "größe": [1.0, 0.25, 0.0], "new york": [3.0, 4.0, 5.0]}
LINES = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items())


def binary(between: bytes = b"\n") -> bytes:
    entries = [word.encode() + b" " + np.array(v, "<f4").tobytes() for word, v in WORDS.items()]
    return b"3 3\n" + between.join(entries) + between


FILES: dict[str, bytes] = {
    "word2vec.txt": f"3 3\n{LINES}".encode(),
    "glove.txt": LINES.encode(),
    "windows.vec": f"3 3\n{LINES}".replace("\n", "\r\n").encode(),
    "trailing.vec": f"3 3\n{LINES}".replace("\n", " \n").encode(),
    "blank-lines.vec": f"3 3\n{LINES}".replace("\n", "\n\n").encode(),
    "plain.vec.gz": gzip.compress(f"3 3\n{LINES}".encode()),
    "glove.txt.gz": gzip.compress(LINES.encode()),
}


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", FILES)
def test_every_text_form(tmp_path: Path, name: str) -> None:
    found = dict(read_word_vectors(written(tmp_path, name, FILES[name])))
    assert {word: vector.tolist() for word, vector in found.items()} == WORDS


@pytest.mark.parametrize("between", [b"\n", b""], ids=["with newlines", "without"])
@pytest.mark.parametrize("packed", [False, True], ids=["bin", "bin.gz"])
def test_binary(tmp_path: Path, between: bytes, packed: bool) -> None:
    content = binary(between).replace(b"new york", b"new_york")
    path = written(tmp_path, "x.bin.gz" if packed else "x.bin", gzip.compress(content) if packed else content)
    found = {word: vector.tolist() for word, vector in read_word_vectors(path)}
    assert found == {word.replace(" ", "_"): vector for word, vector in WORDS.items()}


def message(path: Path) -> str:
    with pytest.raises(WordVectorsError) as caught:
        list(read_word_vectors(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "line", "width"),
    [
        (b"3 3\nthe 1 2 3\nof 1 2\n", 3, 3),
        (b"3 3\nthe 1 2 x\n", 2, 3),
        (b"the 1 2 3\nof 1 2 3\n\nto 1 b 3\n", 4, 3),
        (b"the 1 2 3\n\xff\xfe 1 2 3\n", 2, 3),
        (b"the\n", 1, 0),
    ],
    ids=["too few numbers", "not a number", "behind a blank line", "not UTF-8", "no numbers"],
)
def test_a_broken_line(tmp_path: Path, content: bytes, line: int, width: int) -> None:
    path = written(tmp_path, "x.vec", content)
    assert message(path) == f"{path}:{line}: should be a word and {width} numbers, separated by spaces"


def test_a_binary_file_that_ends_too_early(tmp_path: Path) -> None:
    whole = binary(b"").replace(b"new york", b"new_york")
    path = written(tmp_path, "x.bin", whole[:-1])
    assert message(path) == f"{path}: ends within the vector of word 3 of 3"
    path = written(tmp_path, "x.bin", whole[: whole.index(b"new") + 2])
    assert message(path) == f"{path}: ends within word 3 of 3"


def test_a_binary_file_that_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path, "x.bin", binary().replace(b"3 3", b"2 3", 1).replace(b"new york", b"new_york"))
    assert message(path) == f"{path}: goes on behind the 2 words that its first line says; get the file again"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e39"])
def test_numbers_that_are_not_finite(tmp_path: Path, number: str) -> None:
    """Training would stop at its first step, and say that the rate is too high."""
    said = "the vector of 'of' has numbers that are not finite; take the word out, or get the file again"
    path = written(tmp_path, "x.txt", f"the 1 2 3\nof 1 {number} 3\n".encode())
    assert message(path) == f"{path}:2: {said}"
    with np.errstate(over="ignore"):
        vector = np.array([1, float(number), 3]).astype("<f4")
    path = written(tmp_path, "x.bin", b"1 3\nof " + vector.tobytes())
    assert message(path) == f"{path}: word 1: {said}"


def test_no_file(tmp_path: Path) -> None:
    assert message(tmp_path / "none.vec") == f"{tmp_path}/none.vec: no such file"
    assert message(tmp_path) == f"{tmp_path}: no such file"


def test_an_empty_file(tmp_path: Path) -> None:
    assert "-1" not in message(written(tmp_path, "x.vec", b"")).removeprefix(str(tmp_path))


@pytest.mark.parametrize("content", [FILES["plain.vec.gz"][:-12], b"the 1 2 3\n"], ids=["cut off", "not gzip"])
def test_a_broken_gzip_file(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, "x.vec.gz", content)
    assert message(path).startswith(str(path))


def test_a_text_file_that_ends_too_early(tmp_path: Path) -> None:
    path = written(tmp_path, "x.vec", b"3 3\nthe 1 2 3\n")
    assert message(path).startswith(str(path))


def test_into_an_embedding(tmp_path: Path) -> None:
    """Words that the file lacks stay random; words that the vocabulary lacks are passed over."""
    embedding = TokenEmbedding(Tokens(), 4, 3)
    before = embedding.weight_VD.detach().clone()
    path = written(tmp_path, "x.vec", FILES["word2vec.txt"])
    assert start_from_file(embedding, path, ["<pad>", "größe", "unheard", "the"]) == 2
    assert torch.equal(embedding.weight_VD[[0, 2]], before[[0, 2]])
    assert embedding.weight_VD[[1, 3]].tolist() == [WORDS["größe"], WORDS["the"]]
    assert embedding.weight_VD.requires_grad


def test_the_first_of_two_vectors_counts(tmp_path: Path) -> None:
    embedding = TokenEmbedding(Tokens(), 1, 2)
    path = written(tmp_path, "x.vec", b"the 1 2\nthe 3 4\n")
    assert start_from_file(embedding, path, ["the"]) == 1
    assert embedding.weight_VD.tolist() == [[1, 2]]


def test_vectors_of_another_width(tmp_path: Path) -> None:
    path = written(tmp_path, "x.vec", FILES["word2vec.txt"])
    expected = re.escape(f"{path}: vectors are 3 wide, but the model's embedding is 5; set model.width = 3")
    with pytest.raises(WordVectorsError, match=expected):
        start_from_file(TokenEmbedding(Tokens(), 4, 5), path, ["the"])


def test_capitals_that_the_file_lacks(tmp_path: Path) -> None:
    embedding = TokenEmbedding(Tokens(), 4, 2)
    path = written(tmp_path, "x.vec", b"the 1 2\nThe 3 4\nof 5 6\n")
    assert start_from_file(embedding, path, ["THE", "The", "Of", "OFF"]) == 3
    assert embedding.weight_VD[:3].tolist() == [[1, 2], [3, 4], [5, 6]]
