"""A forecast as SVG: what was, what is expected, and bands between the quantiles; a chart a column."""

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

import numpy as np

from seqloom.data.series.timestamps import Times
from seqloom.jobs.answering.forecasting import Floats, Forecast
from seqloom.training.axes import Scale, fit, tick_label
from seqloom.training.curves import STYLE, words

WIDTH, LEFT, RIGHT, TOP, GAP, BOTTOM, HEIGHT = 820, 64, 110, 60, 40, 46, 130
MOST = 8  # charts
BEFORE, FEWEST = 3, 12  # horizons of the past that are drawn; steps, where those are fewer
BAND = ".band { fill: currentColor; opacity: .18; stroke: none }"
TICKS = 6


def forecast_svg(forecasts: Sequence[Forecast], title: str = "") -> str:
    """The first charts of many; how many there are is said. Times stand below the last, and where others come next."""
    charts = [(one, column) for one in forecasts for column in range(len(one.columns))]
    shown = charts[:MOST]
    height = TOP + len(shown) * (HEIGHT + GAP) - GAP + BOTTOM
    more = f" ({len(shown)} of {len(charts)} columns)" if len(charts) > MOST else ""
    parts = [f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>']
    parts.append(words(LEFT, 24, title + more, "head title"))
    for number, (one, column) in enumerate(shown):
        timed = number == len(shown) - 1 or not np.array_equal(_times_of(one), _times_of(shown[number + 1][0]))
        parts += _chart(one, column, TOP + number * (HEIGHT + GAP), timed)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' role="img">',
            f"<title>{escape(title or 'forecast')}</title>",
            f"<style>{STYLE}{BAND}</style>",
            *parts,
            "</svg>",
            "",
        ]
    )


def _most(one: Forecast) -> int:
    """Steps of the past that are drawn."""
    return max(BEFORE * len(one.times_H), FEWEST)


def _times_of(one: Forecast) -> Times:
    return np.concatenate((one.times_T[-_most(one) :], one.times_H))


def _chart(one: Forecast, column: int, top: float, timed: bool) -> Iterator[str]:
    horizon = len(one.times_H)
    before_T = one.before_TC[-_most(one) :, column]
    said_HQ = one.said_HCQ[:, column]
    came_H = None if one.came_HC is None else one.came_HC[:, column]
    all_values = np.concatenate([before_T, said_HQ.ravel(), *([] if came_H is None else [came_H])])
    across = Scale(-len(before_T), max(horizon - 1, 1), LEFT, WIDTH - RIGHT)
    bottom = top + HEIGHT
    up = fit(all_values[np.isfinite(all_values)].tolist(), bottom, top, even=True)
    name = f"{one.series}: {one.columns[column]}" if one.series else one.columns[column]
    yield words(LEFT, top - 8, name, "head")
    for tick in up.ticks(4):
        yield f'<path class="grid" d="M{LEFT} {up.place(tick):.1f}H{WIDTH - RIGHT}"/>'
        yield words(LEFT - 8, up.place(tick) + 4, tick_label(tick), "words", "end")
    yield f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
    yield f'<path class="axis" stroke-dasharray="3 3" d="M{across.place(0):.1f} {top}V{bottom}"/>'
    ahead = np.arange(horizon)
    for low, high in _pairs(len(one.levels)):
        yield _band(ahead, said_HQ[:, 1 + low], said_HQ[:, 1 + high], across, up)
    yield _line(np.arange(-len(before_T), 0), before_T, across, up, "a")
    if came_H is not None:
        yield _line(ahead, came_H, across, up, "c")
    yield _line(ahead, said_HQ[:, 0], across, up, "b")
    yield from _labels(one, said_HQ, came_H, up, top, bottom)
    if timed:
        yield from _times(_times_of(one), -len(before_T), across, bottom)


def _pairs(levels: int) -> Iterator[tuple[int, int]]:
    """From the widest band to the narrowest."""
    return ((at, levels - 1 - at) for at in range(levels // 2))


def _labels(
    one: Forecast, said_HQ: Floats, came_H: Floats | None, up: Scale, top: float, bottom: float
) -> Iterator[str]:
    """Of the lines at their ends, apart from each other."""
    ends = [(up.place(float(said_HQ[-1, 0])), "forecast", "b")]
    if came_H is not None and math.isfinite(came_H[-1]):
        ends.append((up.place(float(came_H[-1])), "what came", "c"))
    free = top
    for y, text, colour in sorted(ends):
        y = min(max(y + 4, free), bottom)
        yield words(WIDTH - RIGHT + 8, y, text, f"label {colour}")
        free = y + 14
    if len(one.levels) > 1:
        share = one.levels[-1] - one.levels[0]
        yield words(WIDTH - RIGHT + 8, free, f"{share:.0%} band", "label b")


def _times(times: Times, first: int, across: Scale, bottom: float) -> Iterator[str]:
    """Some of the times below the last chart. first: where the first of them stands."""
    whole_days = bool((times == times.astype("datetime64[D]")).all())
    for at in np.unique(np.linspace(0, len(times) - 1, TICKS).round().astype(int)):
        x = across.place(first + int(at))
        text = str(times[at].astype("datetime64[D]" if whole_days else "datetime64[m]")).replace("T", " ")
        yield f'<path class="axis" d="M{x:.1f} {bottom}v5"/>'
        yield words(x, bottom + 19, text, "words", "middle")


def _line(x: np.ndarray, y: Floats, across: Scale, up: Scale, colour: str) -> str:
    """A value between two that are missing, or of a single step, is a dot: a line of it has no length."""
    text, dots = [], []
    there = np.isfinite(y)
    for part in np.split(np.arange(len(y)), np.flatnonzero(~there)):
        places = [f"{across.place(x[at]):.1f} {up.place(y[at]):.1f}" for at in part.tolist() if there[at]]
        if len(places) == 1:
            left, _, height = places[0].partition(" ")
            dots.append(f'<circle class="dot {colour}" cx="{left}" cy="{height}" r="2"/>')
        elif places:
            text.append("M" + "L".join(places))
    return "".join([f'<path class="line {colour}" d="{"".join(text)}"/>', *dots])


def _band(x: np.ndarray, low: Floats, high: Floats, across: Scale, up: Scale) -> str:
    """Of a single step it is as wide as a dot."""
    places = [across.place(place) for place in x.tolist()]
    if len(places) == 1:
        places = [places[0] - 3, places[0] + 3]
        low, high = low.repeat(2), high.repeat(2)
    there = [(place, up.place(value)) for place, value in zip(places, high.tolist(), strict=True)]
    back = [(place, up.place(value)) for place, value in zip(places, low.tolist(), strict=True)]
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in [*there, *reversed(back)])
    return f'<path class="band b" d="M{path}Z"/>'
