"""Lengths and their ratios, counted in little memory."""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data.check.report import Lengths, Place

Numbers = NDArray[np.int64]

_CAP = 1 << 16
_STEP = 0.01
_REACH = 12.0
_SMOOTH = 10
_ODD_TIMES = 3.0
_DEVIATIONS = 6.0
_NORMAL = 1.4826  # a normal distribution's deviation, in medians of absolute deviations
_FEW = 100


class LengthCounts:
    """How many texts have which length; the few that are longer than the cap are counted apart."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._counts = np.zeros(_CAP + 1, np.int64)
        self._longer: Counter[int] = Counter()
        self._longest = self._total = 0

    def add(self, lengths: Numbers) -> None:
        longer = lengths > _CAP
        self._counts += np.bincount(lengths[~longer], minlength=_CAP + 1)
        self._longer.update(lengths[longer].tolist())
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._total += int(lengths.sum())

    def summary(self) -> Lengths:
        longer = sorted(self._longer)
        lengths = [*range(_CAP + 1), *longer]
        up_to = np.cumsum([*self._counts.tolist(), *(self._longer[length] for length in longer)])
        half, most = (lengths[int(np.searchsorted(up_to, share * up_to[-1]))] for share in (0.5, 0.99))
        return Lengths(self._unit, half, most, self._longest, self._total)


class Ratios:
    """How much longer one side is than the other, and which examples stand out.

    What stands out lies many deviations from the median, where the median of absolute deviations is the measure: a
    few odd examples do not move it. Short texts differ by chance, so a few characters are added to both sides.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(int(2 * _REACH / _STEP), np.int64)
        self._extremes: list[tuple[float, int, Place]] = []
        self._number = itertools.count()  # tells equal ratios apart: places have no order

    def add(self, sources: Numbers, targets: Numbers, place: Callable[[int], Place], keep: int) -> None:
        ratios = np.log((targets + _SMOOTH) / (sources + _SMOOTH))
        bins = np.clip(((ratios + _REACH) / _STEP).astype(np.int64), 0, len(self._counts) - 1)
        self._counts += np.bincount(bins, minlength=len(self._counts))
        order = np.argsort(ratios, kind="stable")
        for at in dict.fromkeys([*order[:keep].tolist(), *order[-keep:].tolist()]):
            self._extremes.append((float(ratios[at]), next(self._number), place(at)))
        lowest, highest = heapq.nsmallest(keep, self._extremes), heapq.nlargest(keep, self._extremes)
        self._extremes = list(dict.fromkeys([*lowest, *highest]))

    def odd(self, keep: int) -> tuple[int, list[Place]]:
        """How many examples stand out, and the oddest of them."""
        if self._counts.sum() < _FEW:
            return 0, []
        centres = (np.arange(len(self._counts)) + 0.5) * _STEP - _REACH
        middle = _median(centres, self._counts)
        deviation = _NORMAL * _median(np.abs(centres - middle), self._counts)
        limit = max(_DEVIATIONS * deviation, float(np.log(_ODD_TIMES)))
        count = int(self._counts[np.abs(centres - middle) > limit].sum())
        oddest = sorted(self._extremes, key=lambda extreme: -abs(extreme[0] - middle))
        return count, [place for ratio, _, place in oddest if abs(ratio - middle) > limit][: min(keep, count)]


def _median(values: NDArray[np.floating[Any]], counts: Numbers) -> float:
    order = np.argsort(values)
    up_to = np.cumsum(counts[order])
    return float(values[order][np.searchsorted(up_to, 0.5 * up_to[-1])])


def lengths_of(texts: Sequence[str], measure: Callable[[str], int] = len) -> Numbers:
    return np.fromiter(map(measure, texts), np.int64, len(texts))
