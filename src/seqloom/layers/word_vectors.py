"""Word vectors from a file: word2vec's text and binary forms, and GloVe's, which is the text form without a header."""

import gzip
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import torch
from torch import Tensor

from seqloom.layers.embedding import TokenEmbedding
from seqloom.settings import UserError


class WordVectorsError(UserError):
    """A file of word vectors that cannot be read; says where and why."""


def start_from_file(embedding: TokenEmbedding, path: Path, words: Sequence[str]) -> int:
    """Copy the vectors of these words (word i is row i) into an embedding; the others stay random. Returns how many.

    A word with capitals that the file lacks takes the vector of its lower case: many files have no capitals at all.
    """
    rows = {word: row for row, word in enumerate(words) if word}
    lower: dict[str, list[str]] = {}
    for word in rows:
        lower.setdefault(word.lower(), []).append(word)
    width, found, lent = embedding.weight_VD.shape[1], 0, dict[str, Tensor]()
    with torch.no_grad():
        for word, vector in read_word_vectors(path):
            if len(vector) != width:
                raise WordVectorsError(
                    f"{path}: vectors are {len(vector)} wide, but the model's embedding is {width}; "
                    f"set model.width = {len(vector)}, or take another file"
                )
            row = rows.pop(word, None)
            if row is not None:
                embedding.weight_VD[row] = vector
                found += 1
            if word in lower:
                lent.setdefault(word, vector)
        for word, vector in lent.items():
            for cased in lower[word]:
                if cased in rows:
                    embedding.weight_VD[rows.pop(cased)] = vector
                    found += 1
    return found


def read_word_vectors(path: Path) -> Iterator[tuple[str, Tensor]]:
    """Each word with its vector, one after the other, so that no file is too large."""
    if not path.is_file():
        raise WordVectorsError(f"{path}: no such file")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from _vectors(path, cast(BinaryIO, file))
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise WordVectorsError(f"{path}: not a whole gzip file") from None


def _vectors(path: Path, stream: BinaryIO) -> Iterator[tuple[str, Tensor]]:
    first = stream.readline()
    head = first.split()
    if not head:
        raise WordVectorsError(f"{path}: empty; should be a word and its vector in each line")
    if len(head) != 2 or not all(part.isdigit() for part in head):
        yield _line(path, first, len(head) - 1, 1)
        yield from _text(path, stream, len(head) - 1)
        return
    count, width, found = int(head[0]), int(head[1]), 0
    if path.name.removesuffix(".gz").endswith(".bin"):
        yield from _binary(path, stream, count, width)
        return
    for pair in _text(path, stream, width):
        found += 1
        yield pair
    if found != count:
        raise WordVectorsError(f"{path}: holds {found} words, but its first line says {count}")


def _text(path: Path, stream: BinaryIO, width: int) -> Iterator[tuple[str, Tensor]]:
    for number, line in enumerate(stream, start=2):
        if line.strip():
            yield _line(path, line, width, number)


def _line(path: Path, line: bytes, width: int, number: int) -> tuple[str, Tensor]:
    # a word may itself hold spaces: the last `width` fields are the vector
    fields = line.rstrip().rsplit(b" ", width)
    try:
        if len(fields) != width + 1 or width < 1:
            raise ValueError
        word, vector = fields[0].decode("utf-8"), torch.tensor([float(field) for field in fields[1:]])
    except ValueError:
        raise WordVectorsError(f"{path}:{number}: should be a word and {width} numbers, separated by spaces") from None
    return word, _finite(f"{path}:{number}", word, vector)


def _finite(place: str, word: str, vector: Tensor) -> Tensor:
    if not math.isfinite(vector.sum().item()):
        raise WordVectorsError(
            f"{place}: the vector of {word!r} has numbers that are not finite; take the word out, or get the file again"
        )
    return vector


def _binary(path: Path, stream: BinaryIO, count: int, width: int) -> Iterator[tuple[str, Tensor]]:
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := stream.read(1)) != b" ":
            if not byte:
                raise WordVectorsError(f"{path}: ends within word {number} of {count}")
            word += byte
        data = stream.read(4 * width)
        if len(data) < 4 * width:
            raise WordVectorsError(f"{path}: ends within the vector of word {number} of {count}")
        text = word.lstrip(b"\n").decode("utf-8", "replace")
        yield text, _finite(f"{path}: word {number}", text, torch.from_numpy(np.frombuffer(data, "<f4").copy()))
    if stream.read(width).strip():
        raise WordVectorsError(f"{path}: goes on behind the {count} words that its first line says; get the file again")
