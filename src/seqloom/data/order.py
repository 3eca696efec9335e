"""Which examples stand in which batch: a pure function of the seed, the epoch and the place in it.

An epoch goes through all chunks in a random order. So many of them as POOL says are in memory at once: their examples
are sorted by length, cut into batches, and the batches shuffled. Memory stays flat however large the data is, and the
order mixes well, as a pool holds hundreds of batches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from seqloom.data.cache import Cache, Examples
from seqloom.data.ragged import Longs
from seqloom.data.streams import Streams

POOL = 64  # chunks
JITTER = 0.1  # lengths are blurred by so much before they are sorted, so that batches differ from epoch to epoch


@dataclass(frozen=True)
class Weighted:
    """Examples of a corpus, and how often each is seen in an epoch: 2 means twice, 0.5 half of them, in turns."""

    cache: Cache
    weight: float = 1.0


Reshape = Callable[[Examples, np.random.Generator | None], Examples]


class Order:
    """The batches of training, in the order of an epoch, from any place on."""

    def __init__(
        self,
        corpora: Sequence[Weighted],
        budget: int,
        seed: int,
        reshape: Reshape | None = None,
        marks: int = 1,
        joined: bool = False,
        streams: Streams | None = None,
    ) -> None:
        """budget: no column of a batch has more tokens than that, unless a single example has.

        reshape: what a task makes of the examples of a pool, anew in each epoch (windows of a running text).
        marks: tokens that a batch adds to each row.
        joined: the columns of an example are one row of a batch, and count together.
        streams: how a text is read side by side, batch after batch; a pool is a piece of one text then.
        """
        self.corpora, self.budget, self.seed = corpora, budget, seed
        self.reshape, self.marks, self.joined, self.streams = reshape, marks, joined, streams
        self.chunks = [
            (place, chunk) for place, corpus in enumerate(corpora) for chunk in range(len(corpus.cache.rows))
        ]

    def epoch(self, epoch: int) -> Iterator[Examples]:
        """All its batches."""
        return (examples for *_, examples in self.numbered(epoch))

    def numbered(self, epoch: int, pool: int = 0, batch: int = 0) -> Iterator[tuple[int, int, float, Examples]]:
        """Batches with the number of their pool, their number in it, and the share of the epoch that is over with them.

        From a place on; nothing before it is read.
        """
        pools = self._pools(epoch)
        before = np.cumsum([0, *map(len, pools)]).tolist()
        for number in range(pool, len(pools)):
            examples, batches = self._batches(pools[number], epoch, number)
            for place in range(batch, len(batches)):
                over = (before[number] + len(pools[number]) * (place + 1) / len(batches)) / before[-1]
                goes_on = self.streams is not None and place > 0
                yield number, place, over, replace(examples.take(batches[place]), goes_on=goes_on)
            batch = 0

    def _pools(self, epoch: int) -> list[list[tuple[int, int]]]:
        """Chunks that are in memory at once."""
        draw = _draw(self.seed, "chunks", epoch)
        if self.streams is None:
            chunks = [self.chunks[place] for place in draw.permutation(len(self.chunks))]
            return [chunks[begin : begin + POOL] for begin in range(0, len(chunks), POOL)]
        pieces = []
        for corpus, weighted in enumerate(self.corpora):
            chunks = [(corpus, chunk) for chunk in range(len(weighted.cache.rows))]
            pieces += [chunks[begin : begin + POOL] for begin in range(0, len(chunks), POOL)]
        return [pieces[place] for place in draw.permutation(len(pieces))]

    def _batches(self, chunks: list[tuple[int, int]], epoch: int, number: int) -> tuple[Examples, list[Longs]]:
        draw = _draw(self.seed, "batches", epoch, number * POOL)
        if self.streams is not None:
            ((corpus, _), *_) = chunks
            parts = self.corpora[corpus].cache.read([chunk for _, chunk in chunks], corpus)
            return self.streams.cut(Examples.join(parts), self.budget, draw)
        pool = self._pool(chunks, epoch, draw)
        if not len(pool):
            return pool, []
        batches = cut(_sizes(pool, self.marks, self.joined), self.budget, draw)
        return pool, [batches[place] for place in draw.permutation(len(batches))]

    def _pool(self, chunks: list[tuple[int, int]], epoch: int, draw: np.random.Generator) -> Examples:
        parts = []
        for place, corpus in enumerate(self.corpora):
            mine = [chunk for owner, chunk in chunks if owner == place]
            for chunk, examples in self._shaped(corpus.cache, place, mine, draw):
                parts.append(_repeated(examples, corpus.weight, _draw(self.seed, "weight", place, chunk), epoch))
        return Examples.join(parts)

    def _shaped(
        self, cache: Cache, place: int, chunks: list[int], draw: np.random.Generator
    ) -> Iterator[tuple[int, Examples]]:
        """Chunks as the task wants them. Those that stand side by side in the file are reshaped as one, others apart:
        text must not run on from one chunk into another that does not follow it.
        """
        if self.reshape is None:
            yield from zip(chunks, cache.read(chunks, place), strict=True)
            return
        for run in _runs(sorted(chunks)):
            yield run[0], self.reshape(Examples.join(cache.read(run, place)), draw)


def _runs(numbers: list[int]) -> list[list[int]]:
    """Rising numbers, in groups of those that follow each other."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def in_order(
    cache: Cache,
    budget: int,
    reshape: Reshape | None = None,
    marks: int = 1,
    joined: bool = False,
    streams: Streams | None = None,
) -> Iterator[Examples]:
    """All examples once, those of like length of a pool together: for validation. The same every time."""
    for begin in range(0, len(cache.rows), POOL):
        pool = Examples.join(cache.read(range(begin, min(begin + POOL, len(cache.rows)))))
        if streams is not None:
            windows, groups = streams.cut(pool, budget, None)
            yield from (replace(windows.take(rows), goes_on=place > 0) for place, rows in enumerate(groups))
            continue
        pool = pool if reshape is None else reshape(pool, None)
        for rows in () if not len(pool) else cut(_sizes(pool, marks, joined), budget):
            yield pool.take(rows)


def cut(sizes_BC: Longs, budget: int, draw: np.random.Generator | None = None) -> list[Longs]:
    """Rows in groups of like length; in each group, no column (C) adds up to more than the budget."""
    length_B = sizes_BC.max(1).astype(np.float64)
    if draw is not None:
        length_B *= draw.uniform(1 - JITTER, 1 + JITTER, len(length_B))
    order = np.argsort(length_B, kind="stable")
    total_BC = np.cumsum(sizes_BC[order], 0)
    groups, begin = [], 0
    while begin < len(order):
        before_C = total_BC[begin - 1] if begin else np.zeros(sizes_BC.shape[1], np.int64)
        ends = [np.searchsorted(total_BC[:, c], before_C[c] + budget, side="right") for c in range(sizes_BC.shape[1])]
        end = max(begin + 1, int(min(ends)))
        groups.append(order[begin:end])
        begin = end
    return groups


def _sizes(examples: Examples, marks: int, joined: bool) -> Longs:
    """Tokens of each example as a batch has them, with the marks that go with each sequence."""
    lengths_BC = np.stack([column.lengths_B for column in examples.columns.values()], 1)
    return (lengths_BC.sum(1, keepdims=True) if joined else lengths_BC) + marks


def _repeated(examples: Examples, weight: float, draw: np.random.Generator, epoch: int) -> Examples:
    """Each example as often as its weight says; of a fraction, another part in each epoch until all had their turn."""
    if weight == 1:
        return examples
    turn_B = (draw.permutation(len(examples)) + draw.random()) / max(len(examples), 1)
    seen_before = np.floor(turn_B + weight * epoch)
    times_B = (np.floor(turn_B + weight * (epoch + 1)) - seen_before).astype(np.int64)
    return examples.take(np.repeat(np.arange(len(examples)), times_B))


Purpose = Literal["chunks", "batches", "weight"]
_PURPOSES: dict[Purpose, int] = {"chunks": 0, "batches": 1, "weight": 2}


def _draw(seed: int, purpose: Purpose, *numbers: Any) -> np.random.Generator:
    """A generator of its own for each purpose and place: no draw depends on how many came before."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, _PURPOSES[purpose], *numbers])))
