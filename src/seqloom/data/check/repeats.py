"""Examples that are there more than once, by 64-bit hashes: 8 bytes for each text.

Python's own hash is used: it is quick, and nobody can provoke a collision, as its key is new in each process. With a
hundred million texts, the chance that any two differ and have one hash is about 1 in 4,000.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.data.file_format import compression
from seqloom.data.reading import Shape, table
from seqloom.data.reading.format_choice import format_of
from seqloom.data.settings import Corpus

Hashes = NDArray[np.int64]
Indices = NDArray[np.int64]


def sortable(corpus: Corpus, shape: Shape) -> bool:
    """Whether each line is an example by itself, so that `sort -u` spoils nothing.

    It would where lines hang together, within a file (running text, sentences of tags, cells of CSV in quotes) or in
    two; where the first one names the columns; and where the file is packed.
    """
    if shape not in ("pairs", "classes") or compression(corpus.files[0]):
        return False
    form, found = format_of(corpus, shape), table(corpus, shape)
    return form == "jsonl" or (form == "tsv" and not (found is not None and found.header))


def hashes_of(texts: Sequence[str]) -> Hashes:
    return np.fromiter(map(hash, texts), np.int64, len(texts))


def joined(sources: Hashes, targets: Hashes) -> Hashes:
    """A hash of both; which is which matters."""
    mixed = sources.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return (mixed * np.uint64(0xBF58476D1CE4E5B9) + targets.view(np.uint64)).view(np.int64)


def repeats(hashes: Hashes) -> Indices:
    """Where something is again that was there before, in order."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    return np.sort(order[1:][ordered[1:] == ordered[:-1]])


def disagreements(sources: Hashes, pairs: Hashes) -> Indices:
    """Where a source has another target than before, in order."""
    once = np.ones(len(pairs), np.bool_)
    once[repeats(pairs)] = False
    return np.flatnonzero(once)[repeats(sources[once])]


def first_of(hashes: Hashes, index: int) -> int:
    """Where that was first which is at the index."""
    return int(np.argmax(hashes == hashes[index]))


def seen(hashes: Hashes, before: Hashes) -> NDArray[np.bool_]:
    """Which of them are among those before, which are sorted."""
    if not len(before):
        return np.zeros(len(hashes), np.bool_)
    at = np.minimum(np.searchsorted(before, hashes), len(before) - 1)
    return before[at] == hashes
