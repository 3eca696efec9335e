"""What lines seem to be that are read otherwise: each is told once, with the command that reads it so."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from seqloom.data.reading.faults import DataError
from seqloom.data.reading.learnt_table import format_said
from seqloom.data.reading.seen_table import csv_rows, names_columns
from seqloom.data.reading.source_column import Wanted, source_column
from seqloom.jobs.lines.asked_input import AskedInput
from seqloom.jobs.opened import Opened
from seqloom.tasks import Language, Masked


@dataclass
class Hints:
    """command: what was asked for, without options. columns: a tab is hardly a part of a text."""

    lines: AskedInput
    note: Callable[[str], None]
    wanted: Wanted
    command: str
    columns: bool
    _told: set[str] = field(default_factory=set)
    _looked_at: int = 0

    def tell(self) -> None:
        """Before the lines that were taken last are answered."""
        lines = self.lines
        if lines.note is not None and lines.note not in self._told:
            self._told.add(lines.note)
            self.note(f"{lines.name}: {lines.note}")
        if self.columns and lines.tabs:
            self._tell("has tabs, and lines are read whole; one column alone", self._of_tabs)
        if lines.json:
            self._tell("has JSON, and lines are read as text; its sources alone", lambda: "--input jsonl")
        if len(lines.head) > self._looked_at:
            self._looked_at = len(lines.head)
            if rows := csv_rows(lines.head, self.wanted):
                self._tell("looks like CSV, and lines are read whole; one column alone", lambda: self._of_csv(rows))

    def _tell(self, what: str, options: Callable[[], str]) -> None:
        if what not in self._told:
            self._told.add(what)
            self.note(f"{self.lines.name}: {what}: {self.command} {options()}")

    def _of_tabs(self) -> str:
        """The number that was learnt from, unless names stand above the columns."""
        if self.lines.head and names_columns(self.lines.head[0].split("\t"), self.wanted):
            return "--input tsv"
        said = {corpus.source for corpus in self.wanted.learnt}
        source = said.pop() if len(said) == 1 else None
        return f"--column {source if source and source.isdecimal() else 1}"

    def _of_csv(self, rows: Sequence[Sequence[str]]) -> str:
        try:
            source_column(self.wanted, rows[0], rows[1:], self.lines.name)
        except DataError:
            return "--input csv --column COL"
        return "--input csv"


def command_of(opened: Sequence[Opened], file: str) -> str:
    """As it was typed, but for options that say how answers are found and written."""
    first, *others = (str(one.run.path) for one in opened) if opened else ("RUN",)
    return shlex.join(["seqloom", "predict", first, file, *(word for run in others for word in ("--ensemble", run))])


def learnt_from_columns(opened: Sequence[Opened]) -> bool:
    """Whether a model learnt from columns between tabs."""
    learnt = [(one.recipe.task, corpus) for one in opened for corpus in one.recipe.data.corpora]
    return any(
        len(corpus.files) == 1 and not isinstance(task, Language | Masked) and format_said(corpus) in ("tsv", "text")
        for task, corpus in learnt
    )
