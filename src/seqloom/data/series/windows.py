"""Windows of series as examples: what was, and what came then. They overlap, so they are cut when they are read."""
# T steps of a series  L look-back  H horizon  C targets  P known so far  K known ahead

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from seqloom.data.cache import Cache, Examples, Totals
from seqloom.data.ragged import Longs, Ragged
from seqloom.data.series.table import Series

Floats = npt.NDArray[np.float32]

CHUNK = 64  # windows that are read at once


@dataclass(frozen=True)
class Scaled:
    """A series as a model reads it. NaN: missing, among targets and what is known so far."""

    targets_TC: Floats
    past_TP: Floats
    known_TK: Floats
    lines_T: Longs

    def __len__(self) -> int:
        return len(self.targets_TC)

    @cached_property
    def seen_T(self) -> Longs:
        """How many targets are not missing before each step, and in all."""
        return np.concatenate(([0], np.cumsum(~np.isnan(self.targets_TC).all(1))))


@dataclass(frozen=True)
class Frame:
    look_back: int
    horizon: int

    def starts(self, series: Scaled, begin: int, end: int, every: int = 1) -> Longs:
        """Where the horizons begin that lie within begin … end, each with all its look-back before it.

        A horizon of which no value is known tells nothing, and is left out.
        """
        starts = np.arange(max(begin, self.look_back), end - self.horizon + 1, every)
        seen_T = series.seen_T
        return starts[seen_T[starts + self.horizon] > seen_T[starts]]


class Windows(Cache):
    """Windows of some series, in any order; a cache whose chunks are cut out of the series as they are asked for."""

    def __init__(
        self, series: Sequence[Scaled], of_N: Longs, start_N: Longs, frame: Frame, raw: Sequence[Series] = ()
    ) -> None:
        """of_N: the number of each window's series. start_N: where its horizon begins. raw: the series unscaled."""
        self.series, self.of_N, self.start_N, self.frame, self.raw = tuple(series), of_N, start_N, frame, tuple(raw)
        counts = [min(CHUNK, len(of_N) - begin) for begin in range(0, len(of_N), CHUNK)]
        sizes = self._sizes()
        tokens = {name: size * len(of_N) for name, size in sizes.items()}
        self.facts, self.columns = {}, list(sizes)
        self.totals = Totals(len(of_N), tokens, sizes, counts)

    def _sizes(self) -> dict[str, int]:
        first = self.series[0]
        C, P, K = first.targets_TC.shape[1], first.past_TP.shape[1], first.known_TK.shape[1]
        L, H = self.frame.look_back, self.frame.horizon
        return {"source": L * (C + P), "known": (L + H) * K, "target": H * C}

    def shuffled(self, seed: int) -> "Windows":
        """In another order, always the same: neighbours are nearly equal, and a batch should hold many kinds."""
        order = np.random.Generator(np.random.Philox(seed)).permutation(len(self.of_N))
        return Windows(self.series, self.of_N[order], self.start_N[order], self.frame, self.raw)

    def read(self, chunks: Sequence[int], corpus: int = 0) -> list[Examples]:
        return [self._cut(range(CHUNK * at, min(CHUNK * (at + 1), len(self.of_N))), corpus) for at in chunks]

    def _cut(self, rows: Sequence[int], corpus: int) -> Examples:
        sizes = self._sizes()
        values = {name: np.empty((len(rows), size), np.float32) for name, size in sizes.items()}
        lines_B = np.empty(len(rows), np.int64)
        L, H = self.frame.look_back, self.frame.horizon
        for at, row in enumerate(rows):
            series, start = self.series[self.of_N[row]], int(self.start_N[row])
            before, after = slice(start - L, start), slice(start, start + H)
            both = np.concatenate((series.targets_TC[before], series.past_TP[before]), 1)
            values["source"][at] = both.ravel()
            values["known"][at] = series.known_TK[start - L : start + H].ravel()
            values["target"][at] = series.targets_TC[after].ravel()
            lines_B[at] = series.lines_T[start]
        columns = {name: Ragged.of(flat.ravel(), np.full(len(rows), sizes[name])) for name, flat in values.items()}
        return Examples(columns, np.full(len(rows), corpus), lines_B)


def nearest(examples: Examples, frame: Frame, shorter: Frame) -> Examples:
    """Windows of a frame as those of one that looks back less far."""
    if shorter == frame:
        return examples
    columns = dict(examples.columns)
    for name, ahead in (("source", 0), ("known", frame.horizon)):
        steps, kept = frame.look_back + ahead, shorter.look_back + ahead
        values = columns[name].values_N.reshape(len(examples), steps, -1)[:, steps - kept :]
        columns[name] = Ragged.of(values.ravel(), np.full(len(examples), kept * values.shape[2]))
    return replace(examples, columns=columns)
