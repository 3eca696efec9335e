"""A table as a terminal shows it: what is wider stands in parts, one below the other, and no number is ever broken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from seqloom.jobs.table import Table

GAP = 2  # between two columns
LONG = 18  # a head that is wider may take several lines
LEAST = 8  # of a name, however narrow the terminal is
ROOM = 40  # beside the others, below which sentences stand on lines of their own
INDENT = 4  # of these lines


@dataclass(frozen=True)
class _Column:
    head: str
    cells: tuple[str, ...]
    width: int
    right: bool


def draw(table: Table, console: Console) -> None:
    """Each part begins with the columns of words, which are the names; the first columns come first."""
    columns = _columns(table)
    sentences = columns.pop() if table.sentences else None
    parts = _parts(columns[: table.left], _groups(columns[table.left :]), console.width)
    if table.title:
        console.print(Text(table.title, style="italic"))
    for number, part in enumerate(parts):
        room = console.width - _width(part) - GAP
        if sentences is None or number:
            _print(part, console)
        elif len(parts) == 1 and room >= ROOM:
            _print([*part, replace(sentences, width=room)], console)
        else:
            _print(part, console, sentences)


def _columns(table: Table) -> list[_Column]:
    found = []
    for at, (head, *cells) in enumerate(zip(table.head, *table.rows, strict=True)):
        widest = max([LONG, *map(cell_len, head.split())])
        width = max(map(cell_len, [*_wrapped(head, widest), *cells]), default=0)
        right = at >= table.left and not (table.sentences and at == len(table.head) - 1)
        found.append(_Column(head, tuple(cells), width, right))
    return found


# -- which columns stand together


def _groups(columns: Sequence[_Column]) -> list[list[_Column]]:
    """A column without a head belongs to the one before it, as the stars to a difference."""
    found = list[list[_Column]]()
    for column in columns:
        if found and not column.head:
            found[-1].append(column)
        else:
            found.append([column])
    return found


def _parts(names: Sequence[_Column], groups: Sequence[list[_Column]], width: int) -> list[list[_Column]]:
    whole = [*names, *(column for group in groups for column in group)]
    if _width(whole) <= width:
        return [whole]
    names = _narrower(names, width, max(map(_width, groups), default=0))
    parts = [[*names]]
    for group in groups:
        if len(parts[-1]) > len(names) and _width([*parts[-1], *group]) > width:
            parts.append([*names])
        parts[-1] += group
    return parts


def _narrower(names: Sequence[_Column], width: int, other: int) -> list[_Column]:
    """Long names take several lines where they would take half of the terminal, or leave another column no room."""
    widest = max(range(len(names)), key=lambda at: names[at].width)
    column = names[widest]
    rest = _width(names) - column.width
    word = max(cell_len(word) for cell in (column.head, *column.cells) for word in (cell.split() or [""]))
    room = min(max(width // 2 - rest, word), width - rest - GAP - other)
    narrow = replace(column, width=min(column.width, max(room, LEAST)))
    return [*names[:widest], narrow, *names[widest + 1 :]]


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


# -- lines


def _print(columns: Sequence[_Column], console: Console, below: _Column | None = None) -> None:
    """below: what stands under each row, on lines of its own."""
    for line in _lines([column.head for column in columns], columns, upwards=True):
        _say(line, console, "bold")
    _say("─" * _width(columns), console, "dim")
    for at in range(len(columns[0].cells)):
        for line in _lines([column.cells[at] for column in columns], columns):
            _say(line, console)
        for line in _wrapped(below.cells[at], console.width - INDENT) if below is not None else ():
            _say(" " * INDENT + line, console, "dim")
    _say("", console)


def _lines(cells: Sequence[str], columns: Sequence[_Column], upwards: bool = False) -> Iterator[str]:
    """Of one row. upwards: short cells stand at its lower end."""
    each = [_wrapped(cell, column.width) or [""] for cell, column in zip(cells, columns, strict=True)]
    height = max(map(len, each))
    if upwards:
        each = [[""] * (height - len(lines)) + lines for lines in each]
    for line in zip_longest(*each, fillvalue=""):
        yield (" " * GAP).join(map(_padded, line, columns)).rstrip()


def _padded(text: str, column: _Column) -> str:
    space = " " * (column.width - cell_len(text))
    return space + text if column.right else text + space


def _wrapped(text: str, width: int) -> list[str]:
    """Between words; of one that is too long, behind hyphens; letters of two columns are counted as such."""
    if cell_len(text) <= width:
        return text.splitlines()
    lines = wrap(text, width, break_on_hyphens=False, break_long_words=False)
    pieces = [piece for line in lines for piece in wrap(line, width)]
    return [part for piece in pieces for part in chop_cells(piece, width)]


def _say(line: str, console: Console, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
