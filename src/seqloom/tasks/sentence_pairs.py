"""Documents → pairs of segments: the second follows the first, or is from elsewhere (Devlin et al. 2019, A.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seqloom.data.ragged import Longs, Ragged
from seqloom.text import END, SEPARATOR

SHORT = 0.1
"""So many of the examples are shorter than they might be, so that a model meets short ones too."""
RANDOM = 0.5

Span = tuple[int, int]
"""From where to where in the tokens of all sentences."""


@dataclass(frozen=True)
class Pair:
    """Two segments, the number of the first one's first sentence, and whether the second follows."""

    first: Span
    second: Span
    sentence: int
    follows: bool


def documents(rows: Ragged) -> list[range]:
    """The numbers of the sentences of each document. Its end is a row that holds an end mark alone."""
    alone = (rows.lengths_B == 1) & (rows.values_N[np.minimum(rows.starts[:-1], len(rows.values_N) - 1)] == END)
    ends = [*np.flatnonzero(alone).tolist(), len(rows)]
    spans = [range(begin, end) for begin, end in zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True)]
    return [span for span in spans if len(span)]


def pairs(rows: Ragged, room: int, draw: np.random.Generator) -> Iterator[Pair]:
    """All sentences once, as parts of pairs that have at most `room` tokens together."""
    every = documents(rows)
    for number, document in enumerate(every):
        at = document.start
        while at < document.stop:
            wanted = int(draw.integers(2, room + 1)) if draw.random() < SHORT else room
            stop = _until(rows.starts, at, document.stop, wanted)
            split = at + int(draw.integers(1, stop - at)) if stop - at > 1 else stop
            follows = split < stop and draw.random() >= RANDOM
            if follows:
                second = _span(rows.starts, split, stop)
            else:
                second = _elsewhere(rows.starts, every, number, wanted - _size(rows.starts, at, split), draw)
            yield Pair(*_trimmed(_span(rows.starts, at, split), second, room, draw), at, follows)
            at = stop if follows else split  # what a stranger took the place of comes next


def joined(rows: Ragged, made: list[Pair]) -> Ragged:
    """Each pair as one row, with a separator between its segments."""
    values = [
        part
        for pair in made
        for part in (rows.values_N[slice(*pair.first)], [SEPARATOR], rows.values_N[slice(*pair.second)])
    ]
    lengths_B = np.array([1 + sum(end - begin for begin, end in (pair.first, pair.second)) for pair in made], np.int64)
    return Ragged.of(np.concatenate(values).astype(rows.values_N.dtype), lengths_B)


def _until(starts: Longs, at: int, stop: int, wanted: int) -> int:
    """The sentence behind the first ones that have as many tokens; one at least."""
    return min(stop, max(at + 1, int(np.searchsorted(starts, starts[at] + wanted))))


def _span(starts: Longs, at: int, stop: int) -> Span:
    return int(starts[at]), int(starts[stop])


def _size(starts: Longs, at: int, stop: int) -> int:
    return int(starts[stop] - starts[at])


def _elsewhere(starts: Longs, every: list[range], not_from: int, wanted: int, draw: np.random.Generator) -> Span:
    """Some sentences of another document; of the same where there is one only."""
    other = int(draw.integers(max(1, len(every) - 1)))
    document = every[(other + (other >= not_from)) % len(every)]
    at = int(draw.integers(document.start, document.stop))
    return _span(starts, at, _until(starts, at, document.stop, max(1, wanted)))


def _trimmed(first: Span, second: Span, room: int, draw: np.random.Generator) -> tuple[Span, Span]:
    """Tokens of the longer segment go first, then of both in turn; by chance at the front or at the end."""
    sizes = [first[1] - first[0], second[1] - second[0]]
    over = max(0, sum(sizes) - room)
    longer = int(sizes[1] > sizes[0])
    alone = min(over, abs(sizes[0] - sizes[1]))
    cut = [(over - alone) // 2, (over - alone) // 2]
    cut[longer] = over - cut[1 - longer]
    front = [int(draw.binomial(size, 0.5)) for size in cut]
    return (
        (first[0] + front[0], first[1] - cut[0] + front[0]),
        (second[0] + front[1], second[1] - cut[1] + front[1]),
    )
