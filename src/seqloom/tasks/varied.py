"""Series otherwise in each epoch: cut, stretched, moved, louder, noisy."""
# T steps  C channels

from collections.abc import Sequence

import numpy as np

from seqloom.data.ragged import Ragged
from seqloom.data.readings import Floats, Readings
from seqloom.tasks.settings import Vary


def varied(rows: Ragged, vary: Vary, readings: Readings, seeds: Sequence[int], longest: int | None) -> Ragged:
    """seeds: one for each row. longest: steps that a row may have. What marks a missing reading is not changed."""
    real = len(readings.names)
    made = []
    for row, seed in enumerate(seeds):
        draw = np.random.Generator(np.random.Philox(seed))
        x_TC = _warped(_cropped(rows[row], vary.crop, draw), vary.warp, real, draw, longest)
        if vary.shift and readings.columns is not None:
            x_TC = _moved(x_TC, vary.shift, readings.columns, draw)
        x_TC = np.concatenate([_louder(x_TC[:, :real], vary, draw), x_TC[:, real:]], 1)
        made.append(x_TC)
    return Ragged.series(made, rows.values_N.shape[1])


def _cropped(x_TC: Floats, least: float, draw: np.random.Generator) -> Floats:
    if least == 1:
        return x_TC
    steps = max(1, round(len(x_TC) * draw.uniform(least, 1)))
    begin = draw.integers(len(x_TC) - steps + 1)
    return x_TC[begin : begin + steps]


def _warped(x_TC: Floats, share: float, real: int, draw: np.random.Generator, longest: int | None) -> Floats:
    """Another number of steps: readings between two are means of them, marks are those of the nearer one."""
    if not share:
        return x_TC
    steps = max(1, round(len(x_TC) * draw.uniform(1 - share, 1 + share)))
    steps = steps if longest is None else min(steps, longest)
    at_T = np.linspace(0, len(x_TC) - 1, steps)
    before_T = np.floor(at_T).astype(int)
    after_T = np.minimum(before_T + 1, len(x_TC) - 1)
    part_T1 = (at_T - before_T)[:, None]
    mixed_TC = (1 - part_T1) * x_TC[before_T, :real] + part_T1 * x_TC[after_T, :real]
    return np.concatenate([mixed_TC, x_TC[np.rint(at_T).astype(int), real:]], 1)


def _moved(x_TC: Floats, most: int, columns: int, draw: np.random.Generator) -> Floats:
    """The edge's pixels fill what becomes free."""
    picture = x_TC.reshape(-1, columns, x_TC.shape[1])
    down, right = draw.integers(-most, most + 1, 2)
    lines = np.clip(np.arange(len(picture)) - down, 0, len(picture) - 1)
    places = np.clip(np.arange(columns) - right, 0, columns - 1)
    return picture[lines][:, places].reshape(x_TC.shape)


def _louder(x_TC: Floats, vary: Vary, draw: np.random.Generator) -> Floats:
    if vary.scale:
        x_TC = x_TC * draw.normal(1, vary.scale, x_TC.shape[1])
    return x_TC + draw.normal(0, vary.noise, x_TC.shape) if vary.noise else x_TC
