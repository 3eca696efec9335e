"""Rows of a table, or sentences with tags → questions: one for each row, however many lines it goes over."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from seqloom.data.file_format import STDIN, format_by_name
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.format_choice import holds_words_with_tags
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.source_column import Wanted
from seqloom.data.reading.sources import Source, conllu_sources, csv_sources, parquet_sources, tsv_sources
from seqloom.data.reading.stored_file import shown
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.lines.asked_input import AskedInput, AskedLine
from seqloom.jobs.lines.asked_lines import InputFormat, stream_of
from seqloom.settings import UserError

RowFormat = Literal["csv", "tsv", "conllu", "parquet"]


def row_format(name: str, given: InputFormat | None, column: int | str | None, tags: bool) -> RowFormat | None:
    """None: it is read line by line. given: what somebody said that it is. tags: whether a tagger is asked."""
    form = None if name == STDIN else format_by_name(name)
    if given in ("csv", "tsv"):
        return given
    if reads_json(name, given):
        return None
    if given is None and form == "conllu" and not tags:
        raise UserError(
            f"{name}: words with tags, which a tagger reads; for this model write a sentence a line, as .txt"
        )
    if given is None and (form in ("csv", "conllu", "parquet") or (form == "tsv" and isinstance(column, str))):
        return form
    if isinstance(column, str) or column == 0:
        raise UserError(f"--column {column}: a number from 1 is needed here; for a table's name add --input csv or tsv")
    plain = given is None and column is None and form in ("text", "tsv") and Path(name).is_file()
    return "conllu" if tags and plain and holds_words_with_tags(name) else None


def reads_json(name: str, given: InputFormat | None) -> bool:
    return given == "jsonl" or (given is None and name != STDIN and format_by_name(name) == "jsonl")


class AskedRows(AskedInput):
    """Numbers are those of the rows, from 1, without that of the names.

    The digest is of what is answered alone: another column of targets changes no answer.
    """

    def __init__(self, name: str, form: RowFormat, wanted: Wanted, note: Callable[[str], None]) -> None:
        """note: hears what the first row was taken for."""
        super().__init__()
        self.name = shown(name)
        self._opened = ExitStack()
        self._rows = self._sources(name, form, wanted, note)

    def _sources(self, name: str, form: RowFormat, wanted: Wanted, note: Callable[[str], None]) -> Iterator[Source]:
        if form in ("conllu", "parquet"):
            sources = conllu_sources(name, wanted) if form == "conllu" else parquet_sources(name, wanted)
            self._opened.callback(sources.close)
            return sources
        file = Lines(name, keep_returns=form == "csv", stream=stream_of(name), binary=True)
        with ExitStack() as stack:  # nobody else closes it, where its column is not found
            stack.enter_context(file)
            found = csv_sources(file, wanted, note) if form == "csv" else tsv_sources(file, wanted, note)
            self._opened = stack.pop_all()
        return found

    def take(self, count: int) -> list[AskedLine]:
        found = list[AskedLine]()
        while len(found) < count and (row := next(self._rows, None)) is not None:
            line, value, self.bytes = row
            self.taken += 1
            self._digest.update(repr(value).encode() + b"\n")
            found.append(replace(_asked(self.taken, value, line), digest=self.digest, end=self.bytes))
        return found

    def close(self) -> None:
        self._opened.close()


def _asked(number: int, value: Any, line: int) -> AskedLine:
    if isinstance(value, Broken):
        return AskedLine(number, f"{value.what}; {value.fix}", at=line)
    return AskedLine(number, Question(value if isinstance(value, str) else tuple(value)), at=line)
