"""Pictures of attention: shaded blocks for a terminal, an SVG for everything else.

Rows are what asks (what was written), columns what is looked at (what was read). Labels may be of any script: each
stands alone in its cell, so that nothing joins it to its neighbours or turns their order round.
"""
# T rows  S columns

import re
import unicodedata
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from rich.cells import cell_len, set_cell_size
from torch import Tensor

Weights = Tensor | Sequence[Sequence[float]]

SHADES = " ░▒▓█"
LONGEST = 6  # columns of a terminal that a label may take
SPREAD = 0.2  # smaller weights are hardly seen
ABOUT = "rows: what it wrote; columns: what it read"
LEFT_TO_RIGHT = "\u200e"  # a mark without width

_CELL, _FONT, _MARGIN = 24, 14, 16
_STYLE = """
text { font: 14px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
.ground { fill: #ffffff } .frame { fill: none; stroke: #c4cbd3 } .weight { fill: #2563c9 }
.words { fill: #57606a } .title, .label { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
.ground { fill: #14181d } .frame { stroke: #3a424b } .weight { fill: #6ea8ff }
.words { fill: #a0a9b3 } .title, .label { fill: #e8ebee }
}
"""


def attention_text(weights_TS: Weights, rows: Sequence[str], columns: Sequence[str], width: int = 80) -> str:
    """A line a row, a shade a weight (0 to 1). Columns that do not fit into the width follow below."""
    table = _table(weights_TS, rows, columns)
    across, down = [alone(label) for label in columns], [alone(label) for label in rows]
    cell = min(LONGEST, max(2, *(cell_len(label) + (cell_len(label) > 2) for label in across), 0)) if across else 2
    margin = min(LONGEST, max((cell_len(label) for label in down), default=0))
    most = max(1, (width - margin - 1) // cell)
    bands = []
    for begin in range(0, max(len(across), 1), most):
        lines = [" " * margin + " " + "".join(_cell(label, cell) for label in across[begin : begin + most])]
        for label, row in zip(down, table, strict=True):
            shades = "".join(_shade(weight) * cell for weight in row[begin : begin + most])
            lines.append(_right(label, margin) + " " + shades)
        bands.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(bands)


def attention_svg(
    weights_TS: Weights, rows: Sequence[str], columns: Sequence[str], title: str = "", about: str = ABOUT
) -> str:
    """A square a weight: the darker, the larger; a browser also says the number. about: what rows and columns are."""
    table = _table(weights_TS, rows, columns)
    full = full_scale(max((weight for row in table for weight in row), default=1.0))
    about = about if full == 1 else f"{about}; the darkest is {full:.2g}"
    down, across = [alone(label) for label in rows], [alone(label) for label in columns]
    steep = any(cell_len(label) > 2 for label in across)
    left = _MARGIN + _pixels(down)
    top = 2 * _MARGIN + (_FONT if title else 0) + (_pixels(across) if steep else _CELL)
    wide = max(left + _CELL * len(across), _MARGIN + _pixels([title])) + _MARGIN
    high = top + _CELL * len(down) + 2 * _MARGIN + _FONT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
        f' role="img" direction="ltr"><title>{_xml(title or "attention")}</title>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{wide}" height="{high}"/>',
        f'<text class="title" x="{_MARGIN}" y="{_MARGIN + _FONT}">{_xml(title)}</text>' if title else "",
        *(_column_label(label, left + _CELL * place, top, steep) for place, label in enumerate(across)),
        *(_row_label(label, left, top + _CELL * place) for place, label in enumerate(down)),
        *_squares(table, down, across, left, top, full),
        f'<rect class="frame" x="{left}" y="{top}" width="{_CELL * len(across)}" height="{_CELL * len(down)}"/>',
        f'<text class="words" x="{_MARGIN}" y="{high - _MARGIN}">{_xml(about)}</text>',
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def full_scale(most: float) -> float:
    """What is drawn as dark as can be: 1, unless the largest weight is small, as where it is spread over many words."""
    return most if 0 < most < SPREAD else 1.0


def _table(weights_TS: Weights, rows: Sequence[str], columns: Sequence[str]) -> list[list[float]]:
    table = weights_TS.tolist() if isinstance(weights_TS, Tensor) else [list(row) for row in weights_TS]
    if len(table) != len(rows) or any(len(row) != len(columns) for row in table):
        shape = f"{len(table)} × {len(table[0]) if table else 0}"
        raise ValueError(f"weights of {shape} for {len(rows)} rows and {len(columns)} columns")
    return table


def alone(label: str) -> str:
    """A label that can stand by itself: accents on a dotted circle, nothing that cannot be seen."""
    seen = "".join("\ufffd" if unicodedata.category(sign) in ("Cc", "Cs") else sign for sign in label)
    seen = "".join(sign for sign in seen if unicodedata.category(sign) != "Cf") or ("·" if label else " ")
    return "◌" + seen if unicodedata.category(seen[0]).startswith("M") else seen


# -- in a terminal


def _shade(weight: float) -> str:
    """Even small weights are seen: the steps are those of the square root."""
    return SHADES[min(int(max(weight, 0.0) ** 0.5 * len(SHADES)), len(SHADES) - 1)]


def _cell(label: str, width: int) -> str:
    # behind letters that are read from the right, so that the next cell stays on the right
    return set_cell_size(label, width) + (LEFT_TO_RIGHT if _from_right(label) else "")


def _right(label: str, width: int) -> str:
    label = set_cell_size(label, width) if cell_len(label) > width else " " * (width - cell_len(label)) + label
    return label + (LEFT_TO_RIGHT if _from_right(label) else "")


def _from_right(label: str) -> bool:
    return any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in label)


# -- as SVG


def _pixels(labels: Sequence[str]) -> int:
    return max((round(cell_len(label) * _FONT * 0.62) for label in labels), default=0) + _MARGIN // 2


def _column_label(label: str, x: int, top: int, steep: bool) -> str:
    x, y = x + _CELL // 2, top - 7
    if steep:
        return f'<text class="label" transform="translate({x + 5} {y}) rotate(-90)">{_xml(label)}</text>'
    return f'<text class="label" x="{x}" y="{y}" text-anchor="middle">{_xml(label)}</text>'


def _row_label(label: str, left: int, y: int) -> str:
    return f'<text class="label" x="{left - 8}" y="{y + _CELL - 7}" text-anchor="end">{_xml(label)}</text>'


def _squares(
    table: list[list[float]], down: Sequence[str], across: Sequence[str], left: int, top: int, full: float
) -> Iterator[str]:
    for t, row in enumerate(table):
        for s, weight in enumerate(row):
            if weight >= 0.005 * full:  # less is not seen
                x, y = left + _CELL * s, top + _CELL * t
                says = _xml(f"{down[t]} looked at {across[s]}: {weight:{'.2f' if full == 1 else '.2g'}}")
                yield (
                    f'<rect class="weight" x="{x}" y="{y}" width="{_CELL}" height="{_CELL}"'
                    f' opacity="{min(weight / full, 1.0):.2f}"><title>{says}</title></rect>'
                )


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
