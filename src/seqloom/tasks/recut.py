"""BPE dropout: examples cut into other pieces in each epoch."""

from collections.abc import Sequence
from dataclasses import replace

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.data.readings import Readings
from seqloom.text import BPE, UNKNOWN, Labels, Vocabulary

# odd numbers without a pattern, so that neighbours of one kind are not neighbours of another
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def drops(vocabulary: Vocabulary | Labels) -> bool:
    return (
        isinstance(vocabulary, Vocabulary) and isinstance(vocabulary.settings, BPE) and vocabulary.settings.dropout > 0
    )


def recut(rows: Ragged, vocabulary: Vocabulary, seeds: Sequence[int], longest: int | None) -> Ragged:
    """The same texts in other pieces. A row that would get too long by it, or that is not all text, stays as it was."""
    after = [rows[row].tolist() for row in range(len(rows))]
    texts = vocabulary.decode_many(after)
    whole = [row for row, text in enumerate(texts) if UNKNOWN not in after[row] and _returns(vocabulary, text)]
    new = vocabulary.encode_dropout([texts[row] for row in whole], [seeds[row] for row in whole])
    most = float("inf") if longest is None else longest
    for row, pieces in zip(whole, new, strict=True):
        if len(pieces) <= max(most, len(after[row])):
            after[row] = pieces
    return Ragged.rows(after)


def _returns(vocabulary: Vocabulary, text: str) -> bool:
    """Whether a decoded text can be encoded again: no character was cut in two, and it is normal as it is."""
    return "\ufffd" not in text and vocabulary.normalise(text) == text


def seeds_of(examples: Examples, seed: int, epoch: int) -> list[int]:
    """One for each example: a function of the seed, the epoch and the place where the example stood."""
    begin = (seed * _MIX[0] + epoch * _MIX[1]) % 2**64
    return [
        (begin + corpus * _MIX[2] + line) % 2**64
        for corpus, line in zip(examples.corpus_B.tolist(), examples.line_B.tolist(), strict=True)
    ]


def recut_columns(
    examples: Examples,
    vocabularies: dict[str, Vocabulary | Labels | Readings],
    seeds: Sequence[int],
    longest: int | None,
) -> Examples:
    """The columns whose vocabulary has dropout."""
    columns = dict(examples.columns)
    for name, vocabulary in vocabularies.items():
        if isinstance(vocabulary, Vocabulary) and drops(vocabulary):
            columns[name] = recut(columns[name], vocabulary, seeds, longest)
    return replace(examples, columns=columns)
