"""Plain words for types, values and near misses."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from seqloom.settings.shape import slot
from seqloom.settings.words import counted, describe, nearest, show


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "a whole number"),
        (int | None, "a whole number"),
        (Annotated[float, Field(gt=0, le=1)] | None, "a number (above 0, at most 1)"),
        (Annotated[tuple[int, ...], Field(min_length=2, max_length=3)], "a list (at least 2 long, at most 3 long)"),
        (dict[str, int], "a table"),
        (Literal["a"], "'a'"),
        (Literal["a", "b", 3], "'a', 'b' or 3"),
        (int | str, "a whole number or text"),
        (bool | int, "true or false, or a whole number"),
        (Path, "a path"),
        (date, "a date"),
    ],
)
def test_describe(hint: Any, words: str) -> None:
    assert describe(slot(hint)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("eight", "'eight'"),
        ("x" * 61, repr("x" * 59 + "…")),
        (True, "true"),
        (8, "8"),
        (0.5, "0.5"),
        ({"a": 1}, "a table"),
        ([1, 2], "a list of 2"),
        (date(2017, 6, 12), "2017-06-12"),
    ],
)
def test_show(value: object, words: str) -> None:
    assert show(value) == words


@pytest.mark.parametrize(
    ("word", "near"),
    [("haeds", "heads"), ("Heads", "heads"), ("feed-forward", "feed_forward"), ("kernel", None), ("", None)],
)
def test_nearest(word: str, near: str | None) -> None:
    assert nearest(word, ["kind", "heads", "feed_forward"]) == near


def test_counted() -> None:
    assert [counted(count, "line") for count in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
    assert counted(2, "line was cut", "lines were cut") == "2 lines were cut"
