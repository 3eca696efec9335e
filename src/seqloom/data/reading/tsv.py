"""Tab-separated values: no quotes, a line is a row."""

from collections.abc import Iterator
from typing import Any

from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.columns import wanted
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.table import FEW, SAMPLE, Table, table_of
from seqloom.data.settings import Corpus

_MADE_OF: dict[Shape, tuple[str, str]] = {
    "pairs": ("pairs", "give pairs: two columns with a tab between them, or two aligned files"),
    "classes": ("texts and their classes", "put a tab and its class behind each text"),
}
"""What stands in two columns, and how it is given."""


def read_tsv(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    """A file may have more columns than are needed; a row with more than the first one has a tab too many.

    Where the settings name the columns, they are found in such a row too.
    """
    with Lines(corpus.files[0]) as file:
        lines = file.take(ROWS)
        if not lines:
            return
        _refuse_plain(lines, shape, file.name)
        table = _table(corpus, shape, lines, file.name)
        places = table.places
        files = (file.name,) * len(FIELDS[shape])
        most = None if any(wanted(corpus, shape)) else max(len(table.first), max(places) + 1)
        skip, consumed = int(table.header and isinstance(lines[0], str)), 0
        while lines:
            before, consumed = consumed, file.consumed
            numbers = range(file.count - len(lines) + 1 + skip, file.count + 1)
            yield Rows(files, numbers, _columns(lines[skip:], places, most), consumed - before)
            lines, skip = file.take(ROWS), 0


def _refuse_plain(lines: list[Any], shape: Shape, name: str) -> None:
    """Where no line has a second column, the file is of another kind, and no line of it need be mended."""
    first = [line for line in lines[:SAMPLE] if isinstance(line, str) and line.strip()]
    if len(first) < FEW or any("\t" in line for line in first) or shape not in _MADE_OF:
        return
    reads, instead = _MADE_OF[shape]
    raise DataError(
        f"{name}: looks like plain text (no tab in its first {len(first)} lines), but this task reads {reads}; for "
        f"plain text take a language model such as rnn-lm-small, or {instead}"
    )


def tsv_table(corpus: Corpus, shape: Shape) -> Table | None:
    with Lines(corpus.files[0]) as file:
        lines = file.take(SAMPLE + 1)
        return _table(corpus, shape, lines, file.name) if lines else None


def _table(corpus: Corpus, shape: Shape, lines: list[Any], name: str) -> Table:
    first, *others = (line.split("\t") if isinstance(line, str) else [] for line in lines[: SAMPLE + 1])
    if isinstance(lines[0], Broken):  # as far as it can be read: how many columns there are, and their names
        first = lines[0].text.split("\t")
    return table_of(corpus, shape, first, others, f"{name}:1")


def _columns(lines: list[Any], places: tuple[int, ...], most: int | None) -> tuple[list[Any], ...]:
    needed = max(places) + 1
    if set(map(type, lines)) <= {str}:
        rows = [line.split("\t") for line in lines]
        counts = set(map(len, rows))
        if min(counts, default=needed) >= needed and (most is None or max(counts, default=0) <= most):
            return tuple([row[place] for row in rows] for place in places)
    cells = [cells_of(line, places, needed, most) for line in lines]
    return tuple(map(list, zip(*cells, strict=True)))


def cells_of(line: str | Broken, places: tuple[int, ...], needed: int, most: int | None) -> list[Any]:
    if isinstance(line, Broken):
        return [line] * len(places)
    row = line.split("\t")
    if len(row) < needed and line.strip():
        what = f"expected {needed} columns with a tab between them, found {len(row)}"
        return [Broken("too few columns", what)] * len(places)
    if most is not None and len(row) > most and line.strip():
        what = f"expected {most} columns, as in the first row, found {len(row)}"
        return [Broken("too many columns", what, "take out the tab that is too many")] * len(places)
    return [row[place] if place < len(row) else "" for place in places]
