"""What the first rows of a table tell: whether it names its columns, and which of them are read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from shlex import quote
from statistics import median

from seqloom.data.reading.block import FIELDS, Shape
from seqloom.data.reading.column_names import alone, are_names, languages, wordy
from seqloom.data.reading.columns import named_header, positions, usual, wanted
from seqloom.data.reading.faults import DataError
from seqloom.data.settings import Corpus
from seqloom.settings.words import counted

SAMPLE = 100
"""Rows that are looked at."""
FEW, SOME = 5, 20
"""Rows that are enough to tell numbers from a name, and sentences from one."""
SHOWN = 30
SHORTER = 3
"""So many times as short as the row in the middle is a first one that may be names."""

_NUMBER = re.compile(r"\s*[+-]?\d[\d.,:/-]*\s*")


@dataclass(frozen=True)
class Table:
    place: str
    first: Sequence[str]
    header: bool
    guessed: bool
    """whether nobody said that it has a header, neither by a setting nor by a usual name"""
    places: tuple[int, ...]
    """the position of each field's column"""
    by_place: bool
    """whether these are the first columns, as nothing names others"""
    doubtful: bool = False
    """whether the first row is read as an example, but may be names"""

    def notes(self) -> Iterator[str]:
        if self.guessed:
            names = ", ".join(map(_short, self.first))
            yield (
                f"{self.place}: taken as the names of the columns ({names}); "
                "if it is an example: header = false in the recipe's [[data.corpora]]"
            )
        if self.doubtful:
            named = zip(("source", "target"), self.places, strict=False)
            how = " ".join(f"--{field} {quote(self.first[at])}" for field, at in named)
            yield f"{self.place}: read as an example, but looks like the names of the columns; if it is: {how}"
        if self.by_place and len(self.first) > len(self.places):
            read = " and ".join(str(at + 1) for at in self.places)
            several = len(self.places) > 1
            others = "are read; others: --source COL --target COL" if several else "is read; another: --source COL"
            yield f"{self.place}: {listed(self.first)}: {read} {others}"


def table_of(corpus: Corpus, shape: Shape, first: Sequence[str], others: Sequence[Sequence[str]], place: str) -> Table:
    """others: the rows behind the first, as many as are at hand."""
    rows = [row for row in islice(others, SAMPLE) if len(row) == len(first)]
    header = named_header(corpus, shape, first)
    guessed = header is None and looks_like_names(first, rows, shape)
    unsaid = header is None and not guessed
    header = bool(header) or guessed
    by_place = not any(wanted(corpus, shape)) and (usual(first, shape) is None or not header)
    if len(FIELDS[shape]) == 2 and len(first) > 2:
        _refuse_a_guess(corpus, shape, first, rows, header, place)
    places = positions(corpus, shape, first, header, place)
    doubtful = unsaid and all(at < len(first) for at in places) and _may_be_names(first, rows)
    return Table(place, first, header, guessed, places, by_place, doubtful)


def looks_like_names(first: Sequence[str], rows: Sequence[Sequence[str]], shape: Shape) -> bool:
    """Names above columns, one of which holds numbers; or a word or two above every column, all of sentences; or names
    of languages, or usual ones in any language.
    """
    if are_names(first, rows) or (usual(first, shape) and alone(first, rows)):
        return True
    columns = list(zip(*rows, strict=True))
    if not first or len(rows) < FEW or not all(map(wordy, first)):
        return False
    numbers = list(map(are_numbers, columns))
    if any(number and not any(map(str.isnumeric, name)) for name, number in zip(first, numbers, strict=True)):
        return True
    return (
        len(rows) >= SOME
        and all(len(name.split()) <= 2 and name.strip()[-1].isalnum() and "," not in name for name in first)
        and all(len(cell.split()) > 3 for cells in columns for cell in cells)
    )


def are_numbers(cells: Sequence[str]) -> bool:
    return all(map(_NUMBER.fullmatch, cells))


def _may_be_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """The shortest row by far, of words that stand nowhere else."""
    if len(rows) < SOME or not all(map(wordy, first)):
        return False
    lengths = [sum(map(len, row)) for row in rows]
    own = sum(map(len, first))
    text = "\t".join(cell for row in rows for cell in row).casefold()
    shortest = own < min(lengths) and own * SHORTER <= median(lengths)
    return shortest and not any(cell.strip().casefold() in text for cell in first)


def _refuse_a_guess(
    corpus: Corpus, shape: Shape, first: Sequence[str], rows: Sequence[Sequence[str]], header: bool, place: str
) -> None:
    """Of more columns than are needed the first two are read, unless they are likely wrong ones.

    That is so where the columns have names that say nothing, or one of the two holds numbers, as those of rows. Names
    of two languages, and no third, say enough.
    """
    fields = wanted(corpus, shape)
    if all(fields) or (header and usual(first, shape)):
        return
    numbers = len(rows) >= FEW and any(are_numbers([row[at] for row in rows]) for at in (0, 1))
    spoken = languages(first, rows)
    told = all(spoken[:2]) and not any(spoken[2:])
    if (header and not told) or numbers or any(fields):
        missing = [name for name, field in zip(("source", "target"), fields, strict=True) if not field]
        raise DataError(
            f"{place}: {listed(first)}; which is the {' and which the '.join(missing)}? "
            f"Say {' '.join(f'--{name} COL' for name in missing)} (a name, or a number from 1), "
            f"or {' and '.join(f'{name} = …' for name in missing)} in the recipe's [[data.corpora]]{_of_numbers(rows)}"
        )


def _of_numbers(rows: Sequence[Sequence[str]]) -> str:
    """What else a table may be that is mostly numbers."""
    numbers = sum(map(are_numbers, zip(*rows, strict=True)))
    if len(rows) < FEW or 2 * numbers < len(rows[0]):
        return ""
    return (
        "; if these are readings of which each series has a label: --set task.kind=classify --set task.reads=series; "
        "if they are numbers in time: --set task.kind=forecast"
    )


def listed(first: Sequence[str]) -> str:
    return (
        f"{counted(len(first), 'column')} ("
        + ", ".join(f"{at}: {_short(cell)}" for at, cell in enumerate(first, 1))
        + ")"
    )


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= SHOWN else cell[: SHOWN - 1] + "…")
