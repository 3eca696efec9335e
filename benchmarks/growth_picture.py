"""Time and memory over the length of a sequence, both by logarithms, as one SVG that needs nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from seqloom.training.axes import Scale, tick_label
from seqloom.training.curves import STYLE, words

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP, BOTTOM = 820, 300, 70, 160, 64, 60, 50
LINE = 15
COLOURS = "abcdefg"
MORE = """
.e { color: #b0306a } .f { color: #0f7f8c } .g { color: #6b6f76 }
@media (prefers-color-scheme: dark) { .e { color: #ff86b8 } .f { color: #4fd0de } .g { color: #b6bcc4 } }
"""

Points = Sequence[Sequence[float]]


def picture(found: Mapping[str, Points]) -> str:
    """found: of each mixer its points: length, seconds, bytes."""
    height = TOP + 2 * PANEL + GAP + BOTTOM
    lengths = [point[0] for points in found.values() for point in points]
    across = Scale(min(lengths), max(lengths), LEFT, WIDTH - RIGHT, log=True)
    title = "What a layer costs as sequences grow: forward and backward, 128 wide, one sequence"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{MORE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
        words(LEFT, 26, title, "head title"),
        *_panel("seconds (log)", found, 1, 1.0, across, TOP),
        *_panel("megabytes (log)", found, 2, 2.0**20, across, TOP + PANEL + GAP),
        words(WIDTH - RIGHT, height - 12, "tokens of a sequence (log)", "words", "end"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(name: str, found: Mapping[str, Points], at: int, unit: float, across: Scale, top: float) -> Iterator[str]:
    bottom = top + PANEL
    values = [max(point[at] / unit, 1e-4) for points in found.values() for point in points]
    up = Scale(min(values) / 1.3, max(values) * 1.3, bottom, top, log=True)
    yield words(LEFT, top - 10, name, "head")
    for tick in up.ticks(8):
        y = up.place(tick)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield words(LEFT - 8, y + 4, tick_label(tick), "words", "end")
    yield f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
    for length in sorted({point[0] for points in found.values() for point in points}):
        yield words(across.place(length), bottom + 18, f"{length:g}", "words", "middle")
    ends = []
    for colour, (mixer, points) in zip(COLOURS, found.items(), strict=False):
        places = [(across.place(point[0]), up.place(max(point[at] / unit, 1e-4))) for point in points]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path class="line {colour}" d="M{line}"/>'
        ends.append((places[-1][1], colour, mixer))
    yield from _labels(ends)


def _labels(ends: list[tuple[float, str, str]]) -> Iterator[str]:
    """Beside the last points, making room for each other downwards."""
    free = 0.0
    for y, colour, name in sorted(ends):
        free = max(y + 4, free + LINE)
        yield words(WIDTH - RIGHT + 10, free, name, f"label {colour}")
