"""How long a step of training takes on this machine: a few numbers, measured once, and what they say of a load."""
# F features

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from seqloom.training.load import Load

ROWS = (16, 64, 256, 1024)
WIDTHS = (32, 64, 128, 256, 512, 1024)
LENGTHS = (64, 256, 1024, 4096)  # below, attention is what its calls and its traffic cost
KINDS = (
    "gated-linear",
    "memory-compressed",
    "convolution",
    "bottleneck-convolution",
    "recurrence",
    "attentive-recurrence",
)
FEATURES = (
    "products",
    *(f"attention at {length}" for length in LENGTHS),
    "traffic",
    "dropped",
    "scored",
    "parts",
    "parameters",
    "update",
    "recurrence steps",
    "attentive-recurrence steps",
    "looks back",
    "additive scores",
    "normed weights",
    *KINDS,
    *(f"{kind} layers" for kind in KINDS),
    "always",
)


@dataclass(frozen=True)
class Pace:
    """rates: FLOPs a second of a product with so many rows (ROWS) and so wide a matrix (WIDTHS).

    seconds: for one of each feature; of products for each second that they take alone.
    """

    rates: tuple[tuple[float, ...], ...]
    seconds: Mapping[str, float]

    def predict(self, load: Load) -> float:
        """Seconds of a step."""
        found = features(load, self.rates)
        return sum(self.seconds.get(name, 0.0) * much for name, much in found.items())

    def dumps(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def loads(cls, text: str) -> "Pace":
        """ValueError, TypeError or KeyError where it is none."""
        kept = json.loads(text)
        rates = tuple(tuple(float(rate) for rate in row) for row in kept["rates"])
        if [len(row) for row in rates] != [len(WIDTHS)] * len(ROWS):
            raise ValueError("another table of rates")
        return cls(rates, {str(name): float(value) for name, value in kept["seconds"].items()})


def features(load: Load, rates: tuple[tuple[float, ...], ...]) -> dict[str, float]:
    """What the seconds of a step are a sum of."""
    found = dict.fromkeys(FEATURES, 0.0)
    found["products"] = sum(flops / rate_at(rates, *shape) for shape, flops in load.products.items())
    for length, flops in load.attention.items():
        for at, share in _between(LENGTHS, length):
            found[f"attention at {LENGTHS[at]}"] += share * flops
    for name in ("traffic", "dropped", "scored", "parts", "parameters", "update"):
        found[name] = getattr(load, name)
    for name, much in load.mixed.items():
        if name in found:
            found[name] += much
    found["always"] = 1.0
    return found


def rate_at(rates: tuple[tuple[float, ...], ...], rows: float, width: float) -> float:
    """Between those that were measured, by logarithms; beyond them as at the end."""
    return math.exp(
        sum(
            a * b * math.log(rates[row][column])
            for row, a in _between(ROWS, rows)
            for column, b in _between(WIDTHS, width)
        )
    )


def fitted(loads: list[Load], seconds: list[float], rates: tuple[tuple[float, ...], ...]) -> Pace:
    """The numbers with which measured steps are met best, each error as a share; none of them is below zero."""
    rows = [features(load, rates) for load in loads]
    table_SF = np.array([[row[name] / took for name in FEATURES] for row, took in zip(rows, seconds, strict=True)])
    scale_F = np.maximum(np.abs(table_SF).max(0), 1e-300)
    solved_F = _not_negative(table_SF / scale_F) / scale_F
    return Pace(rates, {name: float(value) for name, value in zip(FEATURES, solved_F, strict=True) if value})


def _not_negative(table_SF: np.ndarray, sweeps: int = 4000) -> np.ndarray:
    """x ≥ 0 for which table · x is nearest to ones, coordinate by coordinate; a little is paid for being large."""
    gram_FF = table_SF.T @ table_SF + 1e-4 * np.eye(table_SF.shape[1])
    aim_F = table_SF.sum(0)
    x_F = np.zeros(len(aim_F))
    for _ in range(sweeps):
        for at in range(len(x_F)):
            rest = aim_F[at] - gram_FF[at] @ x_F + gram_FF[at, at] * x_F[at]
            x_F[at] = max(0.0, rest / gram_FF[at, at])
    return x_F


def _between(grid: tuple[int, ...], value: float) -> list[tuple[int, float]]:
    """The two places of a grid around a value, and how near it is to each, by logarithms."""
    if value <= grid[0]:
        return [(0, 1.0)]
    if value >= grid[-1]:
        return [(len(grid) - 1, 1.0)]
    high = next(at for at, edge in enumerate(grid) if edge > value)
    share = math.log(value / grid[high - 1]) / math.log(grid[high] / grid[high - 1])
    return [(high - 1, 1 - share), (high, share)]
