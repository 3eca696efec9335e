"""Scales of a chart: from values to places, and round numbers to mark."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Values from low to high on places from start to end; by their logarithm if `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        low, high = self._measure(self.low), self._measure(self.high)
        return self.start + (self._measure(value) - low) / (high - low) * (self.end - self.start)

    def _measure(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, most: int) -> list[float]:
        return _log_ticks(self.low, self.high, most) if self.log else _even_ticks(self.low, self.high, most)


def fit(values: Iterable[float], start: float, end: float, even: bool = False) -> Scale:
    """A scale for all values, a little wider than they are; by logarithm where they span more than a factor of 30.

    even: never by logarithm.
    """
    found = list(values)
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if low > 0 and high / low > 30 and not even:
        return Scale(low / 1.1, high * 1.1, start, end, log=True)
    if low == high:
        around = abs(low) * 0.1 or 1.0
        return Scale(low - around, high + around, start, end)
    room = (high - low) * 0.06
    # what is never negative gets no axis below zero
    return Scale(max(low - room, 0.0) if low >= 0 else low - room, high + room, start, end)


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / max(most, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**power for power in powers for factor in factors]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def tick_label(value: float) -> str:
    """`0`, `0.25`, `1500`, `25k`, `3e-05`."""
    if value == 0:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-3:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return f"{float(mantissa):g}e{int(power)}"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g}M"
    return f"{value / 1e3:.4g}k" if abs(value) >= 1e4 else f"{value:.6g}"
