"""Which column of a table is answered: as somebody said, as it was learnt, or by a usual name."""

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
        ("id,text,label", {"header": False}),
        ("body,x", {"source": "body", "header": False}),
    ],
)
def test_it_is_not_clear(first: str, how: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"^in\.csv:1: \d columns \(1: .*\); which is answered\? Say --column COL"):
        of(first, **how)


def test_only_what_nobody_said_is_told() -> None:
    assert of("id,text,label").notes == ()
    assert of("a,b", column="a").notes == ()
    assert "taken as the names" in str(of("id,text").notes)
    assert "answered too" in str(of("a,b", column="1").notes)
