"""A table of words and numbers: the same cells for a terminal, a pipe, Markdown and LaTeX."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"↓": r"$\downarrow$", "–": "--", "†": r"$\dagger$", "<": r"$<$", ">": r"$>$"}
)


@dataclass(frozen=True)
class Table:
    """left: how many columns hold words; the others hold numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


def draw(table: Table, console: "Console") -> None:
    """As a terminal can."""
    from rich.markup import escape  # only a terminal needs it
    from rich.table import Table as RichTable

    drawn = RichTable(title=escape(table.title), title_justify="left")
    for at, head in enumerate(table.head):
        drawn.add_column(escape(head), justify="left" if at < table.left else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    console.print(drawn)
    console.print()


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


def latex(table: Table) -> Iterator[str]:
    yield f"% {table.title}"
    yield rf"\begin{{tabular}}{{{'l' * table.left}{'r' * (len(table.head) - table.left)}}}"
    yield r"\hline"
    for at, row in enumerate((table.head, *table.rows)):
        yield " & ".join(in_latex(cell) for cell in row) + r" \\" + (r" \hline" if not at else "")
    yield r"\hline"
    yield r"\end{tabular}"
