"""Rows of TSV, CSV, JSONL and files of two words a line, each with its line's number."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seqloom.data.file_format import ending, format_by_name
from seqloom.data.reading.comma_separated import rows_of
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines

TOGETHER = 4096


@dataclass(frozen=True)
class Row:
    """cells: by name, where names are known; else by their numbers, "1", "2", …"""

    line: int
    cells: dict[str, Any]


def rows(name: str, known: frozenset[str], needed: frozenset[str]) -> Iterator[Row | tuple[int, Broken]]:
    """The rows of a file; what is no row is a fault.

    known: names of columns, of which the first row names some if it has one of `needed`. Without such a row there are
    numbers.
    """
    if format_by_name(name) == "jsonl":
        yield from _objects(name)
        return
    comma = ending(name) == ".csv"
    tabs = ending(name) in (".tsv", ".tab")
    header: list[str] | None = None
    first = True
    for line, cells in _cells(name, "," if comma else "\t" if tabs else None):
        if isinstance(cells, Broken):
            yield line, cells
            continue
        if first:
            first = False
            lowered = [cell.strip().lower() for cell in cells]
            if needed & set(lowered):
                header = [low if low in known else cell.strip() for low, cell in zip(lowered, cells, strict=True)]
                _refuse_twice(name, line, header)
                continue
        if header is None:
            yield Row(line, {str(number): cell for number, cell in enumerate(cells, 1)})
        elif len(cells) != len(header):
            what = f"{len(cells)} columns, but the header has {len(header)}"
            yield line, Broken("another number of columns", what)
        else:
            yield Row(line, dict(zip(header, cells, strict=True)))


def _refuse_twice(name: str, line: int, header: list[str]) -> None:
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise DataError(f"{name}:{line}: the column '{twice[0]}' is named twice; name each once")


def _lines(name: str) -> Iterator[tuple[int, str | Broken]]:
    with Lines(name) as lines:
        number = 0
        while some := lines.take(TOGETHER):
            for line in some:
                number += 1
                if isinstance(line, Broken) or line.strip():
                    yield number, line


def _cells(name: str, between: str | None) -> Iterator[tuple[int, list[str] | Broken]]:
    """between: None: any white space; a line that begins with # says nothing then."""
    if between == ",":  # a text in quotes may go over several lines
        with Lines(name, keep_returns=True) as lines:
            yield from ((number, row) for number, row in rows_of(lines, 2) if isinstance(row, Broken) or any(row))
        return
    for number, line in _lines(name):
        if isinstance(line, Broken):
            yield number, line
        elif between is None:
            if not line.lstrip().startswith("#"):
                yield number, line.split()
        else:
            yield number, line.split(between)


def _objects(name: str) -> Iterator[Row | tuple[int, Broken]]:
    for number, line in _lines(name):
        if isinstance(line, Broken):
            yield number, line
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, Broken("no JSON", f"no JSON ({error})")
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            yield number, Broken("no JSON object", 'expected an object such as {"id": "a", "label": "x"}')
