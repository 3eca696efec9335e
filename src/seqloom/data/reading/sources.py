"""The sources of a table's rows, or of sentences with tags, one by one: what else the file holds is not looked at."""

from collections.abc import Callable, Generator, Iterator
from itertools import chain
from typing import Any

from seqloom.data.reading.block import ROWS
from seqloom.data.reading.comma_separated import cells_of, head_of, rows_of
from seqloom.data.reading.conllu import read_conllu
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.learnt_table import format_said
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.parquet import parquet_names, read_parquet
from seqloom.data.reading.source_column import SourceColumn, Wanted, source_column
from seqloom.data.reading.source_key import needed_key
from seqloom.data.reading.stored_file import shown
from seqloom.data.reading.table import SAMPLE
from seqloom.data.reading.tsv import cells_of as tsv_cells_of
from seqloom.data.settings import Corpus
from seqloom.settings.words import show

Source = tuple[int, Any, int]
"""The line where it begins; a text, a list of words, or Broken; how many bytes of the file were read by then."""
SEVERAL = 2
"""Columns that a table may have: one that is taken for a single text would be answered whole."""


def csv_sources(file: Lines, wanted: Wanted, note: Callable[[str], None]) -> Iterator[Source]:
    """A column's cells. Which column it is, is found at once; a line without anything is no row."""
    rows = rows_of(file, SEVERAL)
    head = head_of(rows)
    if not head:
        return iter(())
    (number, first), *others = head
    if isinstance(first, Broken):
        raise DataError(f"{file.name}:{number}: {first.what}; {first.fix}")
    tables = [row for _, row in others if isinstance(row, list)]
    column = source_column(wanted, first, tables, f"{file.name}:{number}")
    for text in column.notes:
        note(text)
    return (
        (line, cells_of(row, (column.at,), len(first))[0], file.consumed)
        for line, row in chain(head[int(column.header) :], rows)
        if row
    )


def tsv_sources(file: Lines, wanted: Wanted, note: Callable[[str], None]) -> Iterator[Source]:
    """A column's cells, found as that of a CSV. A line is a row, also without anything in it."""
    lines = file.take(ROWS)
    if not lines:
        return iter(())
    if isinstance(lines[0], Broken):
        raise DataError(f"{file.name}:1: {lines[0].what}; {lines[0].fix}")
    first, *others = (line.split("\t") if isinstance(line, str) else [] for line in lines[: SAMPLE + 1])
    column = source_column(wanted, first, others, f"{file.name}:1")
    for text in column.notes:
        note(text)
    return _tsv_cells(file, lines, column)


def _tsv_cells(file: Lines, lines: list[Any], column: SourceColumn) -> Iterator[Source]:
    number = 0
    while lines:
        for line in lines:
            number += 1
            if number > column.header:
                yield number, tsv_cells_of(line, (column.at,), column.at + 1, None)[0], file.consumed
        lines = file.take(ROWS)


def parquet_sources(name: str, wanted: Wanted) -> Generator[Source]:
    """A column's values. Which column it is, is found at once."""
    key = needed_key(wanted, parquet_names(name), shown(name))
    return _parquet_values(Corpus(files=(name,), format="parquet", source=key))


def _parquet_values(corpus: Corpus) -> Generator[Source]:
    consumed = 0
    for rows in read_parquet(corpus, "text"):
        share = rows.bytes // max(len(rows.lines), 1)
        for line, value in zip(rows.lines, rows.columns[0], strict=True):
            consumed += share
            yield line, _text_or_words(value), consumed


def _text_or_words(value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        return value
    what = "missing" if value is None else show(value)
    return Broken("no text", f"the source should be text, but is {what}", "mend the row, or name another --column")


def conllu_sources(name: str, wanted: Wanted) -> Generator[Source]:
    """The words of each sentence."""
    said = {corpus.source for corpus in wanted.learnt if format_said(corpus) == "conllu"}
    column = wanted.column or (said.pop() if len(said) == 1 else None)
    consumed = 0
    for rows in read_conllu(Corpus(files=(name,), source=column), "tags"):
        share = rows.bytes // max(len(rows.lines), 1)
        for line, words in zip(rows.lines, rows.columns[0], strict=True):
            consumed += share
            yield line, words, consumed
