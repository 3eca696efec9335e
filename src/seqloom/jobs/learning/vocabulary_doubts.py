"""Vocabularies that do not suit their data: pieces too rare to be learnt, whole words that never come again."""
# N tokens  V pieces

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seqloom.data.cache import Cache
from seqloom.data.ragged import Longs
from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.tasks import Music, task_class
from seqloom.text import BPE, Unigram, Vocabulary, Words
from seqloom.text.specials import SPECIALS, UNKNOWN

ENOUGH = 10
"""Times that the median piece is seen, of those that are seen at all.

Measured with 4,000 pieces for both sides: 65 times in all 29,000 pairs of Multi30k, 11 in 5,000, 5 in 2,000; 8 in 5,000
of Tatoeba; 2 in 4,600 single words, of which nothing is learnt. Half as many pieces are each seen three times as often.
"""

STRANGE = 0.3
"""The share of unknown words in what is validated, above which whole words do not suit.

Measured with 6,000 words of Multi30k's German: 0.09 after all 29,000 pairs, 0.15 after 2,000; of single words nearly 1.
"""

AT_ONCE = 16  # chunks
LEAST = 300  # pieces that are worth a vocabulary of subwords


def vocabulary_doubts(recipe: Recipe, data: Corpora) -> Iterator[str]:
    """Of texts that are written; a label is told by a few of its words."""
    if task_class(recipe.task).shape not in ("pairs", "text") or isinstance(recipe.task, Music):
        return
    told = set[str]()
    for side in _sides(recipe, data):
        doubt = None if side.setting in told else _doubt(side, data)  # one setting may make both vocabularies
        if doubt is not None:
            told.add(side.setting)
            yield doubt


@dataclass(frozen=True)
class _Side:
    """A vocabulary: the setting that makes it, the columns that it cuts, and how they are called."""

    setting: str
    columns: tuple[str, ...]
    vocabulary: Vocabulary
    name: str


def _sides(recipe: Recipe, data: Corpora) -> Iterator[_Side]:
    codecs = data.task.codecs
    if task_class(recipe.task).shape == "text":
        yield _Side("text.source", ("target",), codecs.vocabulary, "the text")
    elif codecs.source is codecs.target:
        yield _Side("text.source", ("source", "target"), codecs.vocabulary, "source and target")
    else:
        target = "text.source" if recipe.text.target is None else "text.target"
        for setting, column, codec in ("text.source", "source", codecs.source), (target, "target", codecs.target):
            if isinstance(codec, Vocabulary):
                yield _Side(setting, (column,), codec, column)


def _doubt(side: _Side, data: Corpora) -> str | None:
    match side.vocabulary.settings:
        case BPE(dropout=0.0) | Unigram():  # dropout cuts rare pieces into frequent ones
            return _rare(side, [part.cache for part in data.train])
        case Words():
            return _strange(side, data.valid)
        case _:
            return None


def _rare(side: _Side, parts: Sequence[Cache]) -> str | None:
    pieces = len(side.vocabulary)
    times = _median(parts, side.columns, pieces)
    if times >= ENOUGH:
        return None
    size = pieces * times // ENOUGH // 100 * 100
    fewer = f"--set {side.setting}.size={size}, or " if size >= LEAST else ""
    often = "once" if times == 1 else f"{times} times"
    return (
        f"{side.name}: half of the {pieces:,} pieces are seen at most {often} in training, which is little to learn "
        f"them from; {fewer}--set {side.setting}.kind=characters may do better"
    )


def _median(parts: Sequence[Cache], columns: Sequence[str], pieces: int) -> int:
    """Of the pieces that are seen, how often; no more is read than is needed to know that it is enough."""
    seen_V = np.zeros(pieces, np.int64)
    for part in parts:
        for start in range(0, len(part.rows), AT_ONCE):
            seen_V += _counts(part, range(start, min(start + AT_ONCE, len(part.rows))), columns, pieces)
            if _middle(seen_V) >= ENOUGH:
                return ENOUGH
    return _middle(seen_V)


def _middle(seen_V: Longs) -> int:
    real_V = seen_V[len(SPECIALS) :]
    return int(np.median(real_V[real_V > 0])) if real_V.any() else ENOUGH


def _counts(part: Cache, chunks: Sequence[int], columns: Sequence[str], pieces: int) -> Longs:
    counts_V = np.zeros(pieces, np.int64)
    for examples in part.read(chunks):
        for column in columns:
            ids_N = examples.columns[column].values_N
            counts_V += np.bincount(ids_N[(ids_N >= 0) & (ids_N < pieces)], minlength=pieces)
    return counts_V


def _strange(side: _Side, parts: Sequence[Cache]) -> str | None:
    """Whole words of which those to validate on are others."""
    some = [part.read(range(min(len(part.rows), AT_ONCE))) for part in parts]
    ids_N = [each.columns[column].values_N for part in some for each in part for column in side.columns]
    unknown = sum(int(np.sum(ids == UNKNOWN)) for ids in ids_N)
    words = unknown + sum(int(np.sum(ids >= len(SPECIALS))) for ids in ids_N)
    if unknown <= STRANGE * words:
        return None
    return (
        f"{side.name}: {unknown / words:.0%} of the words to validate on are not in the vocabulary, and are unknown to "
        f"the model; --set {side.setting}.kind=bpe, or kind=characters where an example is one word"
    )
