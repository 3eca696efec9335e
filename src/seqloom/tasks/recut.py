"""BPE dropout: examples cut into other pieces in each epoch."""

from collections.abc import Sequence

import numpy as np

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.text import BPE, Labels, Vocabulary

# odd numbers without a pattern, so that neighbours of one kind are not neighbours of another
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def drops(vocabulary: Vocabulary | Labels) -> bool:
    return (
        isinstance(vocabulary, Vocabulary) and isinstance(vocabulary.settings, BPE) and vocabulary.settings.dropout > 0
    )


def recut(rows: Ragged, vocabulary: Vocabulary, seeds: Sequence[int], longest: int | None) -> Ragged:
    """The same texts in other pieces; a row that would get too long by it stays as it was."""
    before = [rows[row].tolist() for row in range(len(rows))]
    after = vocabulary.encode_dropout(vocabulary.decode_many(before), seeds)
    most = float("inf") if longest is None else longest
    return Ragged.rows(
        [new if len(new) <= max(most, len(old)) else old for old, new in zip(before, after, strict=True)]
    )


def seeds_of(examples: Examples, seed: int, epoch: int) -> list[int]:
    """One for each example: a function of the seed, the epoch and the place where the example stood."""
    begin = (seed * _MIX[0] + epoch * _MIX[1]) % 2**64
    return [
        (begin + corpus * _MIX[2] + line) % 2**64
        for corpus, line in zip(examples.corpus_B.tolist(), examples.line_B.tolist(), strict=True)
    ]


def recut_columns(
    examples: Examples, vocabularies: dict[str, Vocabulary | Labels], seeds: Sequence[int], longest: int | None
) -> Examples:
    """The columns whose vocabulary has dropout."""
    columns = dict(examples.columns)
    for name, vocabulary in vocabularies.items():
        if isinstance(vocabulary, Vocabulary) and drops(vocabulary):
            columns[name] = recut(columns[name], vocabulary, seeds, longest)
    return Examples(columns, examples.corpus_B, np.asarray(examples.line_B))
