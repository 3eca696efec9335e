"""Whether lines that are read as text look like a table: for a hint, so rather too seldom than too often."""

import csv
import re
from collections.abc import Sequence

from seqloom.data.reading.column_names import wordy
from seqloom.data.reading.columns import usual, usual_sources
from seqloom.data.reading.learnt_table import format_said
from seqloom.data.reading.source_column import Wanted

LOOKED_AT = 20
"""Lines that are enough to tell."""
FEWEST = 3  # lines without names above them, as one or two may have as many commas by chance
_QUOTED = re.compile(r'(?:^|,)"')
_BETWEEN_WORDS = re.compile(r"(?<!\d),|,(?!\d)")


def names_columns(cells: Sequence[str], wanted: Wanted) -> bool:
    """Whether these are names of columns, and one of them that of the source: the recipe's, or a usual one.

    A space before a cell is that of a sentence behind its comma.
    """
    if len(cells) < 2 or not all(wordy(cell) and not cell[0].isspace() for cell in cells):
        return False
    return bool(wanted.names & set(cells)) or bool(usual(cells, wanted.shape) or usual_sources(cells, wanted.shape))


def csv_rows(lines: Sequence[str], wanted: Wanted) -> list[list[str]] | None:
    """The rows of lines that look like CSV; None: they do not.

    Commas alone say little, as sentences and dates have them too: there are names above them, or as many of them in
    each line, none before a space, and quotes around cells or a model that learnt from CSV.
    """
    lines = [line for line in lines if line.strip()]
    for separator in ",;":
        rows = _rows(lines, separator)
        if rows and names_columns(rows[0], wanted):
            return rows
    rows = _rows(lines, ",")
    if len(rows) < FEWEST or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return None
    if any(cell[:1].isspace() for row in rows for cell in row) or not any(map(_BETWEEN_WORDS.search, lines)):
        return None
    learnt = any(format_said(corpus) == "csv" for corpus in wanted.learnt)
    return rows if learnt or any(map(_QUOTED.search, lines)) else None


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """None at all, where quotes are not as in CSV. A cell of many lines may be cut off at the end."""
    try:
        return list(csv.reader((f"{line}\n" for line in lines), delimiter=separator))
    except csv.Error:
        return []
