"""TSV that a CSV writer quoted is told; quotes of a text's own are not."""

import csv
import subprocess
from pathlib import Path

import pytest

from seqloom.data.check import check as check_data
from seqloom.data.reading import quoted_rows
from seqloom.data.reading.quoted_tsv import LOOKED_AT, REMEDY
from seqloom.data.settings import corpora_of
from tests.data.reading.examples import rows, write

PLAIN = [[f"so good {n}", f"how nice {n}"] for n in range(200)]
SAID, BROKEN, TAB = ['he said "x"', "y"], ["one", "two\nlines"], ["a\tb", "c"]


def _written(path: Path, *others: list[str]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([*PLAIN, *others])
    return str(path)


@pytest.mark.parametrize(
    ("row", "example"), [(SAID, '"he said ""x"""'), (BROKEN, '"two'), (TAB, '"a')], ids=["quotes", "line", "tab"]
)
def test_rows_of_a_csv_writer(tmp_path: Path, row: list[str], example: str) -> None:
    name = _written(tmp_path / "a.tsv", *[row] * 3)
    (corpus,) = corpora_of([name])
    found = quoted_rows(corpus, "pairs")
    assert found is not None
    assert (len(found.lines), found.lines[0], found.example) == (3, 201, example)
    assert f"a.tsv: 3 of the first {found.rows} rows have a field in quotes as in CSV ({example}); " in found.note()
    (told,) = [one for one in check_data([corpus]).findings if "in quotes" in one.title]
    assert (told.severity, told.count, told.places[0].where, told.remedy) == ("warning", 3, f"{name}:201", REMEDY)
    assert quoted_rows(corpora_of([_written(tmp_path / "b.tsv", *[row] * 2)])[0], "pairs") is None
    many = PLAIN * (LOOKED_AT // len(PLAIN) // 2)
    assert quoted_rows(corpora_of([_written(tmp_path / "c.tsv", *many, *[row] * 3)])[0], "pairs") is None


def test_where_every_row_is_torn_alike(tmp_path: Path) -> None:
    name = write(tmp_path / "a.tsv", '"so\tgood"\tx\n' * 9)
    found = quoted_rows(corpora_of([name])[0], "pairs")
    assert found is not None
    assert (len(found.lines), found.example) == (9, '"so')


def test_the_command_makes_it_csv(tmp_path: Path) -> None:
    _written(tmp_path / "FILE.tsv", SAID, BROKEN, TAB)
    subprocess.run(REMEDY.partition("are read: ")[2], shell=True, check=True, cwd=tmp_path)
    assert [row[1:] for row in rows(str(tmp_path / "FILE.csv"))] == [tuple(row) for row in (*PLAIN, SAID, BROKEN, TAB)]


def test_quotes_of_its_own(tmp_path: Path) -> None:
    """A speech that goes on in the next row, and one that ends."""
    for line in ('"I went, he said\tilla', '"Go"\tva', '"', '"Ha" and "ho"\tx', 'the ""x""\ty'):
        text = "".join(f"{one}\n" for one in [line if "\t" in line else f"{line}\t{line}"] * 30)
        assert quoted_rows(corpora_of([write(tmp_path / "a.tsv", text)])[0], "pairs") is None
    assert quoted_rows(corpora_of([write(tmp_path / "a.csv", '"a ""b""",c\n' * 9)])[0], "pairs") is None
