"""Examples cut into other pieces in each epoch: BPE dropout."""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.text import BPE, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class Chance:
    """What an example's pieces depend on, besides the example."""

    seed: int
    epoch: int
    longest: int
    """A row that dropout would make longer stays as it is."""


def drops(vocabulary: object) -> bool:
    return (
        isinstance(vocabulary, Vocabulary) and isinstance(vocabulary.settings, BPE) and vocabulary.settings.dropout > 0
    )


def varied(examples: Examples, vocabularies: Mapping[str, Vocabulary], chance: Chance) -> Examples:
    """The columns of vocabularies with dropout, cut anew; the same for the same chance."""
    columns = dict(examples.columns)
    for number, (name, vocabulary) in enumerate(vocabularies.items()):
        if drops(vocabulary):
            columns[name] = _cut(columns[name], vocabulary, _seeds(examples, number, chance), chance.longest)
    return replace(examples, columns=columns)


def _cut(rows: Ragged, vocabulary: Vocabulary, seeds: list[int], longest: int) -> Ragged:
    """A row with an unknown piece stays as it is: its text cannot be had back from its pieces."""
    old = [rows[row].tolist() for row in range(len(rows))]
    known = [row for row, ids in enumerate(old) if UNKNOWN not in ids]
    texts = vocabulary.decode_many([old[row] for row in known])
    new = vocabulary.encode_dropout(texts, [seeds[row] for row in known])
    for row, ids in zip(known, new, strict=True):
        if len(ids) <= longest:
            old[row] = ids
    return Ragged.rows(old)


def _seeds(examples: Examples, column: int, chance: Chance) -> list[int]:
    places = zip(examples.corpus_B.tolist(), examples.line_B.tolist(), strict=True)
    numbers = (struct.pack("<qqqqq", chance.seed, chance.epoch, column, corpus, line) for corpus, line in places)
    return np.fromiter(map(zlib.crc32, numbers), np.int64, len(examples)).tolist()
