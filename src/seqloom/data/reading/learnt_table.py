"""Which column of a table training would take as the source, where a recipe says nothing of its columns.

A run keeps its recipe, and not what was found in its files: that is found again, as `evaluate` does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seqloom.data.file_format import STDIN, format_by_name
from seqloom.data.reading.block import Shape
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.reader import table
from seqloom.data.reading.table import Table, are_numbers, table_of
from seqloom.data.settings import Corpus


class Learnt(NamedTuple):
    at: int
    header: bool
    sure: bool
    """whether the file that was learnt from is still there, and has the same names"""


def format_said(corpus: Corpus) -> str | None:
    """By its settings, or its name."""
    return format_by_name(corpus.files[0]) if corpus.format == "auto" else corpus.format


def as_learnt(
    learnt: Sequence[Corpus], shape: Shape, first: Sequence[str], rows: Sequence[Sequence[str]], header: bool
) -> Learnt | None:
    """None: not all was learnt from tables whose columns nobody named, or this one is of another kind."""
    if not learnt or not all(map(_unsaid, learnt)):
        return None
    tables = [found for corpus in learnt if (found := _kept(corpus, shape)) is not None]
    for kept in tables:
        if kept.header and list(kept.first) == list(first):
            return Learnt(kept.places[0], True, True)
    if tables and (header or all(kept.header or len(kept.first) != len(first) for kept in tables)):
        return None
    try:
        places = {table_of(corpus, shape, first, rows, "").places[0] for corpus in learnt}
    except DataError:
        return None
    at = places.pop()
    # rows are often numbered in the first column, which is nothing to be answered
    numbered = bool(rows) and are_numbers([row[at] for row in rows if at < len(row)]) and not tables
    return None if places or at >= len(first) or numbered else Learnt(at, header, False)


def _unsaid(corpus: Corpus) -> bool:
    return len(corpus.files) == 1 and format_said(corpus) in ("csv", "tsv", "text") and corpus.source is None


def _kept(corpus: Corpus, shape: Shape) -> Table | None:
    """The table that was learnt from, if it is still there."""
    name = corpus.files[0]
    try:
        return table(corpus, shape) if name != STDIN and Path(name).is_file() else None
    except (DataError, OSError):
        return None
