"""Scores against what they cost, as SVG: a point a system, with its interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from seqloom.evaluation.report import Measured
from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.evaluating.score_table import titled
from seqloom.training.axes import Scale, fit, tick_label
from seqloom.training.curves import STYLE, words

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 480, 64, 40, 60, 56
LETTER, LINE = 6.6, 15  # pixels of a label
COLOURS = "abcd"
TICKS = 8


@dataclass(frozen=True)
class _Point:
    name: str
    cost: float
    score: Measured


def picture(compared: Compared) -> str:
    """The cost is the one that was not the same for all: time where FLOPs were, else FLOPs."""
    timed = compared.budget is not None and compared.budget.limit == "flops"
    what = "seconds of training" if timed else "training FLOPs"
    points, first = [], compared.report and compared.report.measured[0].metric.name
    for row in compared.rows:
        measured = [each for each in compared.measured(row.name) if each.metric.name == first]
        cost = None if row.facts is None else row.facts.seconds if timed else row.facts.flops
        if measured and cost:
            points.append(_Point(row.name, cost, measured[0]))
    title = f"{titled(points[0].score.metric)} against {what}" if points else "nothing has been measured"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        words(LEFT, 26, title, "head title"),
    ]
    return "\n".join([*parts, *(_drawn(points, what) if points else ()), "</svg>", ""])


def _drawn(points: Sequence[_Point], what: str) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    across = fit([point.cost for point in points], LEFT, WIDTH - RIGHT)
    ends = [end for point in points for end in (point.score.interval.low, point.score.interval.high)]
    up = fit([*ends, *(point.score.score for point in points)], bottom, TOP, even=True)
    yield from _grid(across, up, bottom)
    yield words(WIDTH - RIGHT, HEIGHT - 14, what + (" (log)" if across.log else ""), "words", "end")
    yield from _points(points, across, up)
    yield from _names(points, across, up)


def _grid(across: Scale, up: Scale, bottom: float) -> Iterator[str]:
    for tick in up.ticks(TICKS):
        y = up.place(tick)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield words(LEFT - 8, y + 4, tick_label(tick), "words", "end")
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    for tick in across.ticks(TICKS):
        yield words(across.place(tick), bottom + 18, tick_label(tick), "words", "middle")


def _points(points: Sequence[_Point], across: Scale, up: Scale) -> Iterator[str]:
    for number, point in enumerate(points):
        x, colour, interval = across.place(point.cost), COLOURS[number % len(COLOURS)], point.score.interval
        low, high = up.place(interval.low), up.place(interval.high)
        yield f'<path class="line {colour}" d="M{x:.1f} {low:.1f}L{x:.1f} {high:.1f}"/>'
        says = escape(f"{point.name}: {point.score.score:.4g} ({interval.low:.4g} – {interval.high:.4g})")
        place = f'cx="{x:.1f}" cy="{up.place(point.score.score):.1f}" r="5"'
        yield f'<circle class="dot {colour}" {place}><title>{says}</title></circle>'


def _names(points: Sequence[_Point], across: Scale, up: Scale) -> Iterator[str]:
    """Beside their points, where there is room; labels make way for each other downwards."""
    taken: list[tuple[float, float, float]] = []
    numbered = sorted(enumerate(points), key=lambda each: up.place(each[1].score.score))
    for number, point in numbered:
        wide, x, y = LETTER * len(point.name), across.place(point.cost) + 10, up.place(point.score.score) + 4
        if x + wide > WIDTH - 8:
            x -= wide + 20
        while any(x < end and begin < x + wide and abs(y - other) < LINE for begin, end, other in taken):
            y += 3
        taken.append((x, x + wide, y))
        yield words(x, y, point.name, f"label {COLOURS[number % len(COLOURS)]}")
