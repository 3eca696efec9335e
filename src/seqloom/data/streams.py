"""A running text read in several places side by side: each of them goes on where its last window ended."""
# N tokens  S streams

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seqloom.data.cache import Examples
from seqloom.data.ragged import Longs, Ragged

LEAST = 8  # windows of a stream: the first knows nothing of what is before it


@dataclass(frozen=True)
class Streams:
    """context: tokens of each stream that are read at once."""

    context: int

    def cut(self, text: Examples, budget: int, draw: np.random.Generator | None) -> tuple[Examples, list[Longs]]:
        """Windows of context + 1 tokens that overlap by one, and which of them are read side by side, in their order.

        budget: tokens of a batch, which has fewer where the text is short.
        draw: in training; the first windows are of another length in each epoch.
        """
        rows = text.columns["target"]
        goals = len(rows.values_N) - 1
        if goals < 1:
            return text.take(np.arange(0)), []
        streams = max(1, min(budget, goals // LEAST) // self.context)
        edges = np.linspace(0, goals, streams + 1).astype(np.int64)
        first = self.context if draw is None else int(draw.integers(1, self.context + 1))
        parts = list(side_by_side(edges[:-1], edges[1:], self.context, first))
        begins, ends = (np.concatenate(side) for side in zip(*parts, strict=True))
        line = np.searchsorted(rows.starts, begins, side="right") - 1
        windows = Examples({"target": cut_out(rows, begins, ends + 1)}, text.corpus_B[line], text.line_B[line])
        return windows, list(np.arange(len(begins)).reshape(-1, streams))


def side_by_side(begin_S: Longs, end_S: Longs, context: int, first: int | None = None) -> Iterator[tuple[Longs, Longs]]:
    """Where the windows of all streams begin and end, window by window; none of them is empty.

    The streams are of nearly the same length; their last windows take up what the longer ones have more.
    """
    lengths_S = end_S - begin_S
    inner = [edge for edge in range(first or context, int(lengths_S.max()), context) if edge < lengths_S.min()]
    edges = [0, *inner, int(lengths_S.max())]
    for begin, end in itertools.pairwise(edges):
        yield begin_S + begin, np.minimum(begin_S + end, end_S)


def cut_out(rows: Ragged, begins: Longs, ends: Longs) -> Ragged:
    """Parts of all values, whichever rows they stand in."""
    lengths = ends - begins
    place = np.arange(lengths.sum()) + np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    return Ragged.of(rows.values_N[place], lengths)
