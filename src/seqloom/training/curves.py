"""`curves.svg`: losses, scores and the learning rate over the steps of a run, as a picture that needs nothing else."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from xml.sax.saxutils import escape

from seqloom.training.axes import Scale, fit, tick_label
from seqloom.training.figures import figure

Point = tuple[float, float]

WIDTH, LEFT, RIGHT, TOP, GAP, BOTTOM = 820, 64, 150, 60, 42, 46
_LOSS_HEIGHT, _SCORE_HEIGHT, _RATE_HEIGHT = 230, 130, 80
_BUCKETS = 250  # each drawn by its lowest and its highest point
_SMOOTHED_FROM = 40  # points: fewer are drawn as they are

# The same hues on light and on dark ground; the lighter ones are for the dark.
STYLE = """
text { font: 12px system-ui, sans-serif } .title { font-size: 15px } .head { font-weight: 600 }
.line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round }
.raw { stroke-width: 1; opacity: .3 }
.ring { fill: none; stroke: currentColor; stroke-width: 1.5 } .dot, .label { fill: currentColor }
.ground { fill: #ffffff } .grid { stroke: #e3e6ea } .axis { stroke: #9aa3ad }
.words { fill: #57606a } .head { fill: #1f2328 }
.a { color: #2563c9 } .b { color: #c2570c } .c { color: #17803d } .d { color: #7a4fc0 }
@media (prefers-color-scheme: dark) {
.ground { fill: #14181d } .grid { stroke: #2b3138 } .axis { stroke: #6b7580 }
.words { fill: #a0a9b3 } .head { fill: #e8ebee }
.a { color: #6ea8ff } .b { color: #ffa057 } .c { color: #4fd07f } .d { color: #b99cff }
}
"""


@dataclass(frozen=True)
class _Curve:
    label: str
    colour: str
    points: Sequence[Point]
    best: Point | None = None
    noisy: bool = False
    """Drawn smoothed, with what it really was behind it."""


@dataclass(frozen=True)
class _Chart:
    name: str
    height: int
    curves: Sequence[_Curve]
    even: bool = False
    """No logarithm, whatever the values."""


def curves_svg(
    metrics: Sequence[Mapping[str, float]],
    title: str = "",
    train: str = "loss",
    valid: str = "valid_loss",
    scores: Sequence[str] = (),
    falling: Collection[str] = (),
    rate: str = "rate",
) -> str:
    """A picture of the rows of `metrics.jsonl`; each row has a `step` and any of the named numbers.

    scores: one chart each. falling: those of them of which less is better. What has no row has no chart.
    """
    rows = sorted((row for row in metrics if "step" in row), key=lambda row: row["step"])
    losses = [_curve(rows, train, "training", "a", noisy=True), _curve(rows, valid, "validation", "b", best=-1)]
    charts = [_Chart("loss", _LOSS_HEIGHT, losses)]
    for name in scores:
        best = -1 if name in falling else 1
        charts.append(_Chart(name.replace("_", " "), _SCORE_HEIGHT, [_curve(rows, name, "", "c", best)]))
    charts.append(_Chart("learning rate", _RATE_HEIGHT, [_curve(rows, rate, "", "d")], even=True))
    charts = [
        replace(chart, curves=drawn)
        for chart in charts
        if (drawn := [curve for curve in chart.curves if any(math.isfinite(y) for _, y in curve.points)])
    ]
    return _drawing(charts, title)


def _curve(
    rows: Sequence[Mapping[str, float]], name: str, label: str, colour: str, best: int = 0, noisy: bool = False
) -> _Curve:
    """best: 1 if more is better, -1 if less is, 0 if there is no best to mark."""
    by_step = {float(row["step"]): float(row[name]) for row in rows if row.get(name) is not None}
    points = list(by_step.items())
    real = [point for point in points if math.isfinite(point[1])]
    top = max(real, key=lambda point: best * point[1]) if best and real else None
    return _Curve(label, colour, points, top, noisy)


def _drawing(charts: Sequence[_Chart], title: str) -> str:
    height = TOP + sum(chart.height + GAP for chart in charts) - (GAP if charts else -GAP) + BOTTOM
    steps = [x for chart in charts for curve in chart.curves for x, _ in curve.points]
    across = Scale(min(steps, default=0), max(max(steps, default=1), min(steps, default=0) + 1), LEFT, WIDTH - RIGHT)
    parts = [f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>']
    parts.append(words(LEFT, 24, title, "head title") if title else "")
    if not charts:
        parts.append(words(LEFT, TOP + 20, "nothing has been measured yet", "words"))
    top = TOP
    for index, chart in enumerate(charts):
        parts += _chart(chart, across, top, f"clip{index}", last=index == len(charts) - 1)
        top += chart.height + GAP
    name = escape(title or "training curves")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' role="img">',
            f"<title>{name}</title>",
            f"<style>{STYLE}</style>",
            *filter(None, parts),
            "</svg>",
            "",
        ]
    )


def _chart(chart: _Chart, across: Scale, top: float, clip: str, last: bool) -> list[str]:
    bottom = top + chart.height
    # what is smoothed may stick out in places: only its smooth line must fit
    shown = [y for curve in chart.curves for _, y in _smooth(curve) if math.isfinite(y)]
    up = fit(shown, bottom, top, chart.even)
    parts = [words(LEFT, top - 8, chart.name + (" (log)" if up.log else ""), "head")]
    for tick in up.ticks(max(2, chart.height // 30)):
        y = up.place(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(words(LEFT - 8, y + 4, tick_label(tick), "words", "end"))
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>')
    for tick in across.ticks(8) if last else []:
        parts.append(f'<path class="axis" d="M{across.place(tick):.1f} {bottom}v5"/>')
        parts.append(words(across.place(tick), bottom + 19, tick_label(tick), "words", "middle"))
    parts += [words(WIDTH - RIGHT, bottom + 36, "step", "words", "end")] if last else []
    box = f'<rect x="{LEFT}" y="{top - 4}" width="{WIDTH - RIGHT - LEFT + 4}" height="{chart.height + 8}"/>'
    parts.append(f'<clipPath id="{clip}">{box}</clipPath><g clip-path="url(#{clip})">')
    for curve in chart.curves:
        parts += _lines(curve, across, up)
    parts.append("</g>")
    return parts + _labels(chart.curves, up, top, bottom)


def _lines(curve: _Curve, across: Scale, up: Scale) -> list[str]:
    smooth = _smooth(curve)
    parts = []
    if smooth is not curve.points:
        parts.append(f'<path class="line raw {curve.colour}" d="{_path(curve.points, across, up)}"/>')
    parts.append(f'<path class="line {curve.colour}" d="{_path(smooth, across, up)}"/>')
    real = [(x, y) for x, y in curve.points if math.isfinite(y)]
    dots = real if len(real) == 1 or (curve.best and len(real) <= 60) else []
    parts += [_circle("dot", curve.colour, across.place(x), up.place(y), 2.4) for x, y in dots]
    if curve.best and len(real) > 1:
        parts.append(_circle("ring", curve.colour, across.place(curve.best[0]), up.place(curve.best[1]), 5.5))
    return parts


def _labels(curves: Sequence[_Curve], up: Scale, top: float, bottom: float) -> list[str]:
    """Each curve's name and last value at its end; the best below it. Labels make room for each other."""
    blocks = []
    for curve in curves:
        _, y = next(point for point in reversed(_smooth(curve)) if math.isfinite(point[1]))
        lines = [f"{curve.label} {figure(y)}".strip()]
        if curve.best:
            last = curve.best == curve.points[-1]
            lines.append("the best" if last else f"best {figure(curve.best[1])} at {curve.best[0]:.0f}")
        blocks.append((min(max(up.place(y), top), bottom), curve.colour, lines))
    parts, free = [], -math.inf
    for y, colour, lines in sorted(blocks):
        y = max(y, free)
        for line in lines:
            parts.append(words(WIDTH - RIGHT + 10, y + 4, line, f"label {colour}"))
            y += 15
        free = y + 3
    return parts


def _smooth(curve: _Curve) -> Sequence[Point]:
    """The mean of each point and its neighbours, a fortieth of a noisy curve; others as they are."""
    if not curve.noisy or len(curve.points) < _SMOOTHED_FROM:
        return curve.points
    reach = max(2, len(curve.points) // 80)
    sums = list(accumulate((y if math.isfinite(y) else 0.0 for _, y in curve.points), initial=0.0))
    counts = list(accumulate((math.isfinite(y) for _, y in curve.points), initial=0))
    smooth = []
    for index, (x, y) in enumerate(curve.points):
        low, high = max(index - reach, 0), min(index + reach + 1, len(curve.points))
        mean = (sums[high] - sums[low]) / (counts[high] - counts[low]) if math.isfinite(y) else math.nan
        smooth.append((x, mean))
    return smooth


def thinned(points: Sequence[Point]) -> Sequence[Point]:
    """The lowest and the highest point of each of a few hundred parts, so that no peak is lost; gaps stay gaps."""
    if len(points) <= 2 * _BUCKETS:
        return points
    kept = [points[0]]
    for bucket in range(_BUCKETS):
        part = points[bucket * len(points) // _BUCKETS : (bucket + 1) * len(points) // _BUCKETS]
        real = [point for point in part if math.isfinite(point[1])]
        ends = {min(real, key=lambda p: p[1]), max(real, key=lambda p: p[1])} if real else set()
        kept += sorted([*ends, *[point for point in part if not math.isfinite(point[1])][:1]])
    return [*kept, points[-1]]


def _path(points: Sequence[Point], across: Scale, up: Scale) -> str:
    text, pen = [], "M"
    for x, y in thinned(points):
        if math.isfinite(y):
            # far outside nothing is seen, and some programs cannot draw there
            height = min(max(up.place(y), up.end - GAP), up.start + GAP)
            text.append(f"{pen}{across.place(x):.1f} {height:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(text)


def _circle(kind: str, colour: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{kind} {colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def words(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
