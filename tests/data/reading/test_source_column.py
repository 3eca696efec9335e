"""Which column of a table is answered: as somebody said, as it was learnt, or by a usual name."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.data.reading.faults import DataError
from seqloom.data.reading.source_column import SourceColumn, Wanted, source_column
from seqloom.data.settings import Corpus


def of(first: str, column: str | None = None, rows: tuple[str, ...] = (), **learnt: Any) -> SourceColumn:
    corpora = [Corpus(files=("train.csv",), **learnt)] if learnt else []
    others = [row.split(",") for row in rows]
    return source_column(Wanted(column, corpora, "classes"), first.split(","), others, "in.csv:1")


@pytest.mark.parametrize(
    ("first", "how", "wanted"),
    [
        ("id,text,label", {}, (1, True)),
        ("id,Review", {}, (1, True)),
        ("id,body,text,label", {"source": "body"}, (1, True)),
        ("gold,body", {"source": "body"}, (1, True)),
        ("id,text,label", {"source": "3"}, (1, True)),  # a number is that of another table
        ("id,text,label", {"column": "1"}, (0, True)),
        ("id,text,label", {"column": "label"}, (2, True)),
        ("a,b", {"column": "b"}, (1, True)),
        ("a,b", {"column": "2"}, (1, False)),
        ("a,b", {"column": "2", "header": True}, (1, True)),
        ("id,text,label", {"column": "2", "header": False}, (1, False)),
        ("id,text,label", {"column": "text", "header": False}, (1, True)),
        ("a,b", {"column": "2", "rows": ("1,c",) * 5}, (1, True)),
        ("one", {}, (0, False)),
        ("2,1", {"column": "1"}, (0, False)),
        ("a b,c", {"weight": 2.0}, (0, False)),  # as training takes it
        ("id,text,label", {"header": False}, (0, False)),
        ("body,gold", {"rows": ("a,1",) * 5, "weight": 2.0}, (0, True)),
        ("gold,body", {"target": "1", "rows": ("1,a",) * 5}, (1, True)),
    ],
)
def test_it_is_found(first: str, how: dict[str, Any], wanted: tuple[int, bool]) -> None:
    found = of(first, **how)
    assert (found.at, found.header) == wanted


@pytest.mark.parametrize(
    ("first", "how"),
    [
        ("id,body", {}),
        ("text,review", {}),
        ("id,text,label", {"source": "body"}),  # it learnt from another column than this one
        ("id,body", {"rows": ("1,a",), "weight": 2.0}),  # the rows are numbered
        ("id,body,x", {"rows": ("1,a,b",) * 5, "weight": 2.0}),
        ("body,x", {"source": "body", "header": False}),
    ],
)
def test_it_is_not_clear(first: str, how: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"^in\.csv:1: \d columns \(1: .*\); which is answered\? Say --column COL"):
        of(first, **how)


def test_the_table_that_was_learnt_from(tmp_path: Path) -> None:
    """Where it is still there, its names are those of this one, or this one is of another kind."""
    file = tmp_path / "train.csv"
    learnt = Wanted(None, [Corpus(files=(str(file),))], "classes")
    rows = [["good", "1"]] * 5
    file.write_text("body,gold\n" + "good,1\n" * 5)
    told = "in.csv:1: 2 columns (1: 'body', 2: 'gold'): 1 is answered, as in training; another: --column COL"
    assert source_column(learnt, ["body", "gold"], [], "in.csv:1") == SourceColumn(0, True, (told,))
    for first in ["id", "body"], ["gold", "body"], ["a b", "c"]:
        with pytest.raises(DataError, match="which is answered"):
            source_column(learnt, first, rows, "in.csv:1")
    file.write_text("good,x\n" * 5)
    found = source_column(learnt, ["12", "y"], [["13", "x"]], "in.csv:1")
    assert (found.at, found.header, len(found.notes)) == (0, False, 2)
    for first in ["good", "x", "y"], ["body", "gold"]:
        with pytest.raises(DataError, match="which is answered"):
            source_column(learnt, first, rows, "in.csv:1")


def test_only_what_nobody_said_is_told() -> None:
    assert of("id,text,label").notes == ()
    assert of("a,b", column="a").notes == ()
    assert "taken as the names" in str(of("id,text").notes)
    assert "answered too" in str(of("a,b", column="1").notes)
