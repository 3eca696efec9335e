"""Which lines look like a table: sentences and dates with commas do not."""

import pytest

from seqloom.data.reading.seen_table import csv_rows, names_columns
from seqloom.data.reading.source_column import Wanted
from seqloom.data.settings import Corpus

NOTHING = Wanted(None, (), "classes")
OF_CSV = Wanted(None, (Corpus(files=("train.csv",)),), "classes")
OF_BODY = Wanted(None, (Corpus(files=("train.csv",), source="body"),), "classes")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (NOTHING, "id,text,label"),
        (NOTHING, "id;Review\n1;good"),
        (NOTHING, "Text,Etikett\n"),
        (OF_BODY, "gold,body\nx,good"),
        (NOTHING, 'x,"a, b"\ny,c\nz,d'),
        (OF_CSV, "x,a b\ny,c\n\nz,d"),
    ],
)
def test_a_table(wanted: Wanted, text: str) -> None:
    assert csv_rows(text.split("\n"), wanted)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (NOTHING, ""),
        (NOTHING, "gold,body\nx,good"),
        (NOTHING, "x,a\ny,b\nz,c"),
        (NOTHING, '"Text," he said.\n"No," she said.\n"Yes," he said.'),
        (NOTHING, "Text, he said\nlabel"),
        (NOTHING, "The text,the label of it, and so on and on."),
        (OF_CSV, "May 3, 2024\nMay 4, 2024\nJune 1, 2023"),
        (OF_CSV, "1,234\n5,678\n9,012"),
        (OF_CSV, "x,a\ny,b"),
        (OF_CSV, "x,a\ny,b,c\nz,d"),
        (OF_CSV, "text\nlabel\ngood"),
        (OF_CSV, "x" * (1 << 21)),
    ],
)
def test_none(wanted: Wanted, text: str) -> None:
    assert csv_rows(text.split("\n"), wanted) is None


def test_names_of_columns() -> None:
    assert names_columns(["text", "label"], NOTHING)
    assert names_columns(["body", "x"], OF_BODY)
    assert not names_columns(["body", "x"], NOTHING)
    assert not names_columns(["text"], NOTHING)
    assert not names_columns(["", "text"], NOTHING)
