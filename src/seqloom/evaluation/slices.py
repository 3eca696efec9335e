"""Where a system does well and where not: the examples by length, and by what the model does not know."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PARTS = 4
MOST_UNKNOWN = 3  # and more


@dataclass(frozen=True)
class Slice:
    """Some of the examples."""

    by: str
    """what they have in common is a matter of: `reference words`"""
    name: str
    rows: NDArray[np.int64]


def by_length(lengths: Sequence[int], by: str, parts: int = PARTS) -> list[Slice]:
    """Slices about as large as each other, from the shortest to the longest; fewer where lengths are alike."""
    values = np.asarray(lengths, np.int64)
    if not len(values):
        return []
    inner = np.quantile(values, np.arange(1, parts) / parts, method="lower")
    edges = np.unique(np.concatenate((inner, [values.max()])))
    return list(_between(values, edges, by))


def by_unknown(counts: Sequence[int], by: str) -> list[Slice]:
    """Examples with no unknown word, with one, two, three and more."""
    values = np.minimum(np.asarray(counts, np.int64), MOST_UNKNOWN)
    names = {count: str(count) for count in range(MOST_UNKNOWN)} | {MOST_UNKNOWN: f"{MOST_UNKNOWN}+"}
    found = ((name, np.flatnonzero(values == count)) for count, name in names.items())
    return [Slice(by, name, rows) for name, rows in found if len(rows)]


def _between(values: NDArray[np.int64], edges: NDArray[np.int64], by: str) -> Iterator[Slice]:
    """Up to each edge, from behind the one before; named by the lengths that there are."""
    below = np.searchsorted(edges, values)
    for at in range(len(edges)):
        rows = np.flatnonzero(below == at)
        if len(rows):
            low, high = values[rows].min(), values[rows].max()
            yield Slice(by, f"{low:,}" if low == high else f"{low:,}–{high:,}", rows)
