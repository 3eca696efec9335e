"""Vocabularies that do not suit their data: pieces too rare to be learnt, words and letters that are unknown."""
# N tokens  V pieces

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.data.cache import Cache
from seqloom.data.ragged import Longs
from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.tasks import Music, task_class
from seqloom.text import BPE, Unigram, Vocabulary, Words
from seqloom.text.specials import SPECIALS, UNKNOWN

ENOUGH = 10
"""Times that the median piece of several characters is seen, of those that are seen at all.

Single ones are as frequent as the data has them: a smaller vocabulary would lose the rare ones, and not see them more.

Measured with 4,000 pieces for both sides: 63 times in all 29,000 pairs of Multi30k, 11 in 5,000, 5 in 2,000; 7 in every
33rd of Tatoeba; 2 in 4,600 single words, of which nothing is learnt. Half as many pieces are each seen three times as
often.
"""

STRANGE = 0.3
"""The share of unknown words in what is validated, above which whole words do not suit.

Measured with 6,000 words of Multi30k's German: 0.09 after all 29,000 pairs, 0.15 after 2,000; of single words nearly 1.
"""

LOST = 0.05
"""The same of letters, which subwords leave out where there are more of them than pieces, as in Chinese."""

AT_ONCE = 16  # chunks
LEAST = 200  # pieces of several characters that are worth a vocabulary of subwords


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
        case BPE() | Unigram() as pieces:
            remedy = f"--set {side.setting}.kind=characters has room for all that training has"
            what = "pieces to validate on are letters that the vocabulary does not have"
            lost = _strange(side, data.valid, LOST, what, remedy)
            often = isinstance(pieces, BPE) and pieces.dropout  # which cuts rare pieces into frequent ones
            return lost or (None if often else _rare(side, [part.cache for part in data.train]))
        case Words():
            remedy = f"--set {side.setting}.kind=bpe, or kind=characters where an example is one word"
            return _strange(side, data.valid, STRANGE, "words to validate on are not in the vocabulary", remedy)
        case _:
            return None


def _rare(side: _Side, parts: Sequence[Cache]) -> str | None:
    names = side.vocabulary.names
    several_V = np.array([number >= len(SPECIALS) and len(name) > 1 for number, name in enumerate(names)])
    several = int(several_V.sum())
    if 2 * several < len(names):  # it reads by letters, nearly
        return None
    times = _median(parts, side.columns, several_V)
    if times >= ENOUGH:
        return None
    fewer = several * times // ENOUGH
    size = (len(names) - several + fewer) // 100 * 100
    smaller = f"--set {side.setting}.size={size}, or " if fewer >= LEAST else ""
    often = "once" if times == 1 else f"{times} times"
    return (
        f"{side.name}: half of the {several:,} pieces of several characters are seen at most {often} in training, "
        f"which is little to learn them from; {smaller}--set {side.setting}.kind=characters may do better"
    )


def _median(parts: Sequence[Cache], columns: Sequence[str], several_V: NDArray[np.bool_]) -> int:
    """Of the pieces that are seen, how often; no more is read than is needed to know that it is enough."""
    seen_V = np.zeros(len(several_V), np.int64)
    for part in parts:
        for start in range(0, len(part.rows), AT_ONCE):
            seen_V += _counts(part, range(start, min(start + AT_ONCE, len(part.rows))), columns, len(several_V))
            if _middle(seen_V[several_V]) >= ENOUGH:
                return ENOUGH
    return _middle(seen_V[several_V])


def _middle(seen_V: Longs) -> int:
    return int(np.median(seen_V[seen_V > 0])) if seen_V.any() else ENOUGH


def _counts(part: Cache, chunks: Sequence[int], columns: Sequence[str], pieces: int) -> Longs:
    counts_V = np.zeros(pieces, np.int64)
    for examples in part.read(chunks):
        for column in columns:
            ids_N = examples.columns[column].values_N
            counts_V += np.bincount(ids_N[(ids_N >= 0) & (ids_N < pieces)], minlength=pieces)
    return counts_V


def _strange(side: _Side, parts: Sequence[Cache], most: float, what: str, remedy: str) -> str | None:
    """What is validated on, and unknown: by columns, as one side of a shared vocabulary may hide the other."""
    some = [part.read(range(min(len(part.rows), AT_ONCE))) for part in parts]
    for column in side.columns:
        ids_N = [examples.columns[column].values_N for part in some for examples in part]
        unknown = sum(int(np.sum(each_N == UNKNOWN)) for each_N in ids_N)
        every = unknown + sum(int(np.sum(each_N >= len(SPECIALS))) for each_N in ids_N)
        if unknown > most * every:
            name = side.name if len(side.columns) == 1 else column
            return f"{name}: {unknown / every:.0%} of the {what}, and are unknown to the model; {remedy}"
    return None
