"""Comma-separated values, with quotes: a row may go over several lines."""

import csv
from collections.abc import Iterator
from itertools import chain, dropwhile, islice
from typing import Any

from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.table import SAMPLE, Table, table_of
from seqloom.data.settings import Corpus

Row = list[str] | Broken
LARGEST = 1 << 20
"""Characters of a cell: articles have so many. A quote that is never closed takes as much, and all rows in it."""
csv.field_size_limit(LARGEST)
SEPARATORS = ",;\t"


def read_csv(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    """Every row has as many columns as the first. Semicolons separate where the first line has no comma; else tabs."""
    with Lines(corpus.files[0], keep_returns=True) as file:
        rows = rows_of(file, len(FIELDS[shape]))
        head = head_of(rows)
        if not head:
            return
        table = _table(corpus, shape, head, file.name)
        files = (file.name,) * len(FIELDS[shape])
        numbers, values, consumed = list[int](), list[list[Any]](), 0
        named = table.header and not isinstance(head[0][1], Broken)
        for number, row in chain(head[int(named) :], rows):
            numbers.append(number)
            values.append(cells_of(row, table.places, len(table.first)))
            if len(numbers) == ROWS:
                before, consumed = consumed, file.consumed
                yield Rows(files, numbers, tuple(map(list, zip(*values, strict=True))), consumed - before)
                numbers, values = [], []
        if numbers:
            yield Rows(files, numbers, tuple(map(list, zip(*values, strict=True))), file.consumed - consumed)


def csv_table(corpus: Corpus, shape: Shape) -> Table | None:
    with Lines(corpus.files[0], keep_returns=True) as file:
        head = head_of(rows_of(file, len(FIELDS[shape])))
        return _table(corpus, shape, head, file.name) if head else None


def head_of(rows: Iterator[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """The first row that holds something, and some behind it."""
    return list(islice(dropwhile(lambda numbered: not numbered[1], rows), SAMPLE + 1))


def _table(corpus: Corpus, shape: Shape, head: list[tuple[int, Row]], name: str) -> Table:
    first, *others = (row if isinstance(row, list) else [] for _, row in head)
    broken = head[0][1]
    if (
        isinstance(broken, Broken) and broken.text
    ):  # as far as it can be read: how many columns there are, and their names
        text = broken.text[:LARGEST]
        first = next(csv.reader([text], delimiter=_separator(text, len(FIELDS[shape]))))
    return table_of(corpus, shape, first, others, f"{name}:{head[0][0]}")


def cells_of(row: Row, places: tuple[int, ...], width: int) -> list[Any]:
    if isinstance(row, Broken):
        return [row] * len(places)
    if not any(row):
        return [""] * len(places)
    if len(row) != width or width <= max(places):
        what = f"expected {max(width, max(places) + 1)} columns, found {len(row)}"
        return [Broken("another number of columns", what, 'quote text that holds commas, as in "a, b"')] * len(places)
    return [row[place] for place in places]


def rows_of(file: Lines, needed: int, separators: str = SEPARATORS) -> Iterator[tuple[int, Row]]:
    """Each row with the line where it begins. separators: the first of these that the first line has, if needed."""
    unreadable: list[tuple[int, Broken]] = []
    lines = _line_by_line(file, unreadable)
    first = next(lines, "")
    separator = _separator(first, needed, separators)
    # strict: a quote in the wrong place is a fault, where Python would take it as text
    rows = csv.reader(_after(first, lines), delimiter=separator, strict=True)
    while True:
        start = rows.line_num + 1
        try:
            row: Row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            row = _broken(str(error), rows.line_num - start)
        if unreadable and unreadable[0][0] <= rows.line_num:
            row = unreadable[0][1]
            unreadable.clear()
        yield start, row


def _separator(first: str, needed: int, separators: str = SEPARATORS) -> str:
    return next((one for one in separators if needed > 1 and one in first), separators[0])


def _line_by_line(file: Lines, unreadable: list[tuple[int, Broken]]) -> Iterator[str]:
    number = 0
    while lines := file.take(ROWS):
        for line in lines:
            number += 1
            if isinstance(line, Broken):
                unreadable.append((number, line))
                line = line.text
            yield line + "\n"


def _after(first: str, lines: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from lines


def _broken(error: str, behind: int) -> Broken:
    """behind: lines that were read with it, as they seemed to stand in its quotes."""
    if "new-line character" in error:
        what = "a carriage return outside of quotes"
        return Broken("a carriage return", what, "end lines with line feeds, e.g. tr '\\r' '\\n'")
    if "field limit" in error:
        what = f"a quote that is never closed, or more than {LARGEST:,} characters in one cell"
    elif "unexpected end" in error:
        what = "a quote that begins in this row is never closed"
    elif "expected after" in error:
        what = "text behind a closing quote"
    else:
        what = f"not CSV ({error})"
    return Broken("broken quotes", what, 'a quote within quotes is written twice: ""', behind=behind)
