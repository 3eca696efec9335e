"""Which linear forecasters of ETTh1, alone or together, forecast best what they were not fitted to: before any test.

Four blocks of four months: three of the training year, each forecast by what the other two thirds gave, and the
official validation part, forecast by the whole year. The models are those of linear.toml and periods.toml, fitted at
once by least squares with a penalty (ridge) instead of steps, so that all of it takes minutes. The months of the test
are not read.

    python benchmarks/ett/blocks.py data/forecasting/ETTh1.csv.gz [HORIZON]...
"""
# N windows of all columns  L look-back  H horizon  P steps of a day  D days

import gzip
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
YEAR, MONTHS4, COLUMNS, DAY = 8640, 2880, 7, 24
LONGEST = 720  # look-back: the first block's windows begin behind it, for all alike
Part = tuple[int, int]
BLOCKS: dict[str, tuple[tuple[Part, ...], Part]] = {
    "months 1-4": (((MONTHS4, YEAR),), (0, MONTHS4)),
    "months 5-8": (((0, MONTHS4), (2 * MONTHS4, YEAR)), (MONTHS4, 2 * MONTHS4)),
    "months 9-12": (((0, 2 * MONTHS4),), (2 * MONTHS4, YEAR)),
    "validation": (((0, YEAR),), (YEAR, YEAR + MONTHS4)),
}
Name = tuple[str, int, float]
"""linear or periods, its look-back, its penalty as a share of the inputs' mean square"""
LINEAR = [("linear", back, penalty) for back in (240, 336, 432, 512, 720) for penalty in (0.03, 0.3)]
PERIODS = [("periods", back, 0.1) for back in (336, 504, 720)]


def combinations() -> list[tuple[Name, ...]]:
    found: list[tuple[Name, ...]] = [(name,) for name in (*LINEAR, *PERIODS)]
    for penalty in (0.03, 0.3):
        a, b, c, d = (("linear", back, penalty) for back in (240, 336, 512, 720))
        p, q, r = PERIODS
        found += [(a, b), (b, c), (a, b, c), (b, c, d), (b, p), (b, r), (c, q), (b, b, p), (b, c, q), (b, b, c, q)]
        found += [(b, c, p, r), (a, b, p, r), (b, c, d, p, q, r)]
    return found


def windows(values: Array, part: Part, look_back: int, horizon: int, reach: bool) -> tuple[Array, Array]:
    """reach: look-backs may begin before the part."""
    begin = max(part[0] - look_back, LONGEST - look_back, 0) if reach else part[0]
    both = np.lib.stride_tricks.sliding_window_view(values[begin : part[1]], look_back + horizon, axis=0)
    rows = both.reshape(-1, look_back + horizon)
    return rows[:, :look_back], rows[:, look_back:]


def read(past: Array, kind: str) -> tuple[Array, Array]:
    """What is multiplied with the weights, and each window's level."""
    level = past.mean(1, keepdims=True)
    away = past - level
    if kind == "linear":  # the deviation stands for the intercept, which window normalisation multiplies with it
        return np.concatenate((away, np.sqrt(past.var(1, keepdims=True) + 1e-5)), 1), level
    return by_hour(away + smooth(away)), level


def smooth(away: Array) -> Array:
    """The mean of the 25 hours around each."""
    sums = np.cumsum(np.pad(np.pad(away, ((0, 0), (12, 12)), mode="edge"), ((0, 0), (1, 0))), 1)
    return (sums[:, 25:] - sums[:, :-25]) / 25


def by_hour(steps: Array) -> Array:
    """Each hour of the day is a row of its own: the days at that hour."""
    days = steps.shape[1] // DAY
    return steps.reshape(-1, days, DAY).transpose(0, 2, 1).reshape(-1, days)


def fit(values: Array, parts: Sequence[Part], name: Name, horizon: int) -> Array:
    kind, look_back, penalty = name
    squares, products = np.zeros((1, 1)), np.zeros((1, 1))
    for part in parts:
        past, goal = windows(values, part, look_back, horizon, reach=False)
        inputs, level = read(past, kind)
        goal = goal - level
        squares = squares + inputs.T @ inputs
        products = products + inputs.T @ (goal if kind == "linear" else by_hour(goal))
    share = penalty * np.trace(squares) / len(squares)
    return np.linalg.solve(squares + share * np.eye(len(squares)), products)


def forecast(weights: Array, past: Array, kind: str) -> Array:
    inputs, level = read(past, kind)
    said = inputs @ weights
    if kind == "periods":
        said = said.reshape(len(past), DAY, -1).transpose(0, 2, 1).reshape(len(past), -1)
    return said + level


def errors(values: Array, horizon: int) -> dict[tuple[Name, ...], list[float]]:
    """The mean squared error of each combination in each block."""
    found: dict[tuple[Name, ...], list[float]] = {names: [] for names in combinations()}
    for parts, block in BLOCKS.values():
        said, goal = dict[Name, Array](), np.zeros(())
        for name in {name for names in found for name in names}:
            past, goal = windows(values, block, name[1], horizon, reach=True)
            said[name] = forecast(fit(values, parts, name, horizon), past, name[0])
        for names, of in found.items():
            of.append(float(np.square(sum(said[name] for name in names) / len(names) - goal).mean()))
    return found


def mean(names: tuple[Name, ...], each: dict[int, dict[tuple[Name, ...], list[float]]]) -> float:
    """Geometric, over blocks and horizons, so that months that are hard for all weigh no more than others."""
    return float(np.exp(np.mean([np.log(found[names]) for found in each.values()])))


def main() -> None:
    file, *horizons = sys.argv[1:]
    with gzip.open(file, "rt") as lines:
        values = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=range(1, 1 + COLUMNS), max_rows=YEAR + MONTHS4)
    values = (values - values[:YEAR].mean(0)) / values[:YEAR].std(0)
    each = {horizon: errors(values, horizon) for horizon in map(int, horizons or ("96", "192", "336", "720"))}
    for names in sorted(combinations(), key=lambda names: mean(names, each)):
        shown = " + ".join(f"{kind} {back} ({penalty:g})" for kind, back, penalty in names)
        of = "; ".join(f"{horizon}: " + " ".join(f"{x:.4f}" for x in found[names]) for horizon, found in each.items())
        print(f"{mean(names, each):.4f}  {shown}  {of}")


if __name__ == "__main__":
    main()
