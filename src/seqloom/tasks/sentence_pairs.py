"""Documents → pairs of segments: the second follows the first, or is from elsewhere (Devlin et al. 2019, A.2)."""

from collections.abc import Iterable, Iterator
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


def several(parts: Iterable[Ragged]) -> bool:
    """Whether the rows of all parts, one after the other, are more than one document."""
    count, goes_on = 0, False
    for rows in parts:
        found = documents(rows)
        count += len(found) - (goes_on and bool(found) and found[0].start == 0)
        if count > 1:
            return True
        goes_on = found[-1].stop == len(rows) if found else goes_on and not len(rows)
    return False


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
            left = max(1, wanted - _size(rows.starts, at, split))
            stranger = (
                None if follows else _elsewhere(rows.starts, every, number, range(at, max(stop, split + 1)), left, draw)
            )
            follows = stranger is None and split < document.stop
            after = stop if split < stop else _until(rows.starts, split, document.stop, left)
            # a text of a single sentence has nothing but itself
            second = stranger or _span(rows.starts, *((split, after) if follows else (at, split)))
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


def _elsewhere(
    starts: Longs, every: list[range], not_from: int, here: range, wanted: int, draw: np.random.Generator
) -> Span | None:
    """Some sentences of another document; where there is one only, of the same, but none from here."""
    if len(every) > 1:
        other = int(draw.integers(len(every) - 1))
        parts = [every[other + (other >= not_from)]]
    else:
        parts = [range(every[0].start, here.start), range(here.stop, every[0].stop)]
    if not any(map(len, parts)):
        return None
    place = int(draw.integers(sum(map(len, parts))))
    part, place = (parts[0], place) if place < len(parts[0]) else (parts[1], place - len(parts[0]))
    return _span(starts, part[place], _until(starts, part[place], part.stop, wanted))


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
