"""Which column of a table is answered, where nobody needs its targets: they may be there, or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from seqloom.data.reading.block import Shape
from seqloom.data.reading.columns import position, usual, usual_sources
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.learnt_table import as_learnt, format_said
from seqloom.data.reading.table import SAMPLE, listed, looks_like_names
from seqloom.data.settings import Corpus

UNCLEAR = "which is answered? Say --column COL (a name, or a number from 1)"


@dataclass(frozen=True)
class Wanted:
    """column: its name or number, as somebody said it. learnt: what a model learnt from, which may name it too."""

    column: str | None
    learnt: Sequence[Corpus]
    shape: Shape

    @property
    def names(self) -> set[str]:
        """A number is none: another table may have other columns."""
        return {corpus.source for corpus in self.learnt if corpus.source and not corpus.source.isdecimal()}

    @property
    def header(self) -> bool | None:
        """As all tables that were learnt from have it, if somebody said so."""
        said = {corpus.header for corpus in self.learnt if format_said(corpus) == "csv"}
        return said.pop() if len(said) == 1 else None


@dataclass(frozen=True)
class SourceColumn:
    at: int
    header: bool
    notes: tuple[str, ...] = ()
    """what should be known of the first row and of the column, as nobody said what they are"""


def source_column(wanted: Wanted, first: Sequence[str], others: Sequence[Sequence[str]], place: str) -> SourceColumn:
    """others: the rows behind the first, as many as are at hand."""
    rows = [row for row in islice(others, SAMPLE) if len(row) == len(first)]
    named = wanted.column is not None and not wanted.column.isdecimal()
    known = bool(wanted.names & set(first)) or usual(first, wanted.shape) is not None
    if named or wanted.header is None:
        header = (
            named or known or bool(usual_sources(first, wanted.shape)) or looks_like_names(first, rows, wanted.shape)
        )
    else:
        header = wanted.header
    sure = header and (named or known)
    at = _place(wanted, first, header, place)
    if at is not None:
        return SourceColumn(at, header, () if sure else (_note(first, header, place),))
    learnt = as_learnt(wanted.learnt, wanted.shape, first, rows, header)
    if learnt is None:
        raise DataError(f"{place}: {listed(first)}; {UNCLEAR}")
    told = f"{place}: {listed(first)}: {learnt.at + 1} is answered, as in training; another: --column COL"
    return SourceColumn(
        learnt.at, learnt.header, (told,) if learnt.sure else (_note(first, learnt.header, place), told)
    )


def _place(wanted: Wanted, first: Sequence[str], header: bool, place: str) -> int | None:
    """None: neither said, nor the only one, nor told by the names."""
    if wanted.column is not None:
        return position(wanted.column, first, header, place, "source")
    if len(first) == 1:
        return 0
    own = [first.index(name) for name in wanted.names if header and name in first]
    if header and not wanted.names:
        both = usual(first, wanted.shape)
        own = [both[0]] if both else usual_sources(first, wanted.shape)
    return own[0] if len(own) == 1 else None


def _note(first: Sequence[str], header: bool, place: str) -> str:
    if header:
        return f"{place}: taken as the names of {listed(first)}; if it is to be answered, put names above it"
    return f"{place}: answered too, as it does not look like names of columns; if it is: --column NAME"
