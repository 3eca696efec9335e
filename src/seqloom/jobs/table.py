"""A table of words and numbers: the same cells for a terminal (`drawn_table.py`), a pipe, Markdown and LaTeX."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"↓": r"$\downarrow$", "–": "--", "†": r"$\dagger$", "<": r"$<$", ">": r"$>$"}
)


@dataclass(frozen=True)
class Table:
    """left: how many columns hold words; the others hold numbers, but the last where it holds sentences."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    sentences: bool = False


def plain(table: Table) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
    yield table.title
    for row in (table.head, *table.rows):
        cells = [
            cell.ljust(width) if at < table.left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def markdown(table: Table) -> Iterator[str]:
    yield f"**{_cell(table.title)}**\n"
    yield f"| {' | '.join(map(_cell, table.head))} |"
    yield f"| {' | '.join('---' if at < table.left else '---:' for at in range(len(table.head)))} |"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def in_latex(text: str) -> str:
    return text.translate(_LATEX)


def _number_in_latex(text: str) -> str:
    """With a minus where a hyphen stands for it."""
    return re.sub(r"^-(?=\d)", "$-$", in_latex(text))


def latex(table: Table) -> Iterator[str]:
    yield f"% {table.title}"
    yield rf"\begin{{tabular}}{{{'l' * table.left}{'r' * (len(table.head) - table.left)}}}"
    yield r"\hline"
    for at, row in enumerate((table.head, *table.rows)):
        cells = [*map(in_latex, row[: table.left]), *map(_number_in_latex, row[table.left :])]
        yield " & ".join(cells) + r" \\" + (r" \hline" if not at else "")
    yield r"\hline"
    yield r"\end{tabular}"
