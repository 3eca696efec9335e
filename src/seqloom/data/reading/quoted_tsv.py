"""TSV that was written as CSV with tabs: its quotes are read as text, as TSV knows none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from seqloom.data.reading.block import Shape
from seqloom.data.reading.format_choice import format_of
from seqloom.data.reading.lines import Lines
from seqloom.data.settings import Corpus

LOOKED_AT = 20_000
"""Rows that are enough to tell."""
FEWEST, FEW = 3, 0.01  # rows, and their share: fewer may be somebody's own quotes
SHOWN = 40
REMEDY = (
    'if a program quoted them, save them as CSV, where quotes are read: python3 -c "import csv, sys; '
    "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter='\\t'))\" < FILE.tsv > FILE.csv"
)


@dataclass(frozen=True)
class Quoted:
    """rows: how many were looked at. lines: where such fields begin. example: the first of them."""

    name: str
    rows: int
    lines: Sequence[int]
    example: str

    def note(self) -> str:
        return (
            f"{self.name}: {len(self.lines):,} of the first {self.rows:,} rows have a field in quotes as in CSV "
            f"({self.example}); TSV knows no quotes: they are read as text, and a tab or line break between them ends "
            f"the field; {REMEDY}"
        )


def quoted_rows(corpus: Corpus, shape: Shape) -> Quoted | None:
    """None: it is no TSV, or few rows look so."""
    if shape == "series" or shape == "timeline" or format_of(corpus, shape) != "tsv":
        return None
    with Lines(corpus.files[0]) as file:
        name, lines = file.name, [line if isinstance(line, str) else "" for line in file.take(LOOKED_AT)]
    if not any('"' in line for line in lines):
        return None
    rows = [line.split("\t") for line in lines]
    ((width, _),) = Counter(map(len, rows)).most_common(1)
    found = {
        number: field
        for number, (row, after) in enumerate(pairwise([*rows, [""] * width]), 1)
        for field in row
        if _whole(field) or (_torn(field) and (len(row) != width or len(after) != width or any(map(_rest, row))))
    }
    if len(found) < FEWEST or len(found) <= FEW * len(rows):
        return None
    first = next(iter(found.values()))
    return Quoted(name, len(rows), list(found), first if len(first) <= SHOWN else first[: SHOWN - 1] + "…")


def _whole(field: str) -> bool:
    """Quotes around it, and each within twice."""
    inner = field[1:-1]
    return field[:1] == field[-1:] == '"' and '""' in inner and '"' not in inner.replace('""', "")


def _torn(field: str) -> bool:
    """A quote that begins and does not end."""
    return field.startswith('"') and field.count('"') % 2 == 1


def _rest(field: str) -> bool:
    """What a tab between quotes has torn from the field before."""
    return field.endswith('"') and not field.startswith('"') and field.count('"') % 2 == 1
