"""Systems are called as is said, or as their files are, and no two the same."""

import re
from pathlib import Path

import pytest

from seqloom.jobs.evaluating.system_name import name_systems
from seqloom.settings import UserError


@pytest.mark.parametrize(
    ("words", "names", "files"),
    [
        (("a/x.txt", "b/y.txt"), ("x.txt", "y.txt"), ("a/x.txt", "b/y.txt")),
        (("a/x.txt", "b/x.txt"), ("a/x.txt", "b/x.txt"), ("a/x.txt", "b/x.txt")),
        (("mine=a/x.txt", "b/x.txt"), ("mine", "x.txt"), ("a/x.txt", "b/x.txt")),
        (("one=x", "two=x"), ("one", "two"), ("x", "x")),
        (("beam=8",), ("beam=8",), ("beam=8",)),
        (("wide=beam=8",), ("wide",), ("beam=8",)),
        (("runs/a=1/x",), ("x",), ("runs/a=1/x",)),
        (("x" * 300 + "=y",), ("x" * 300,), ("y",)),
    ],
)
def test_names(place: Path, words: tuple[str, ...], names: tuple[str, ...], files: tuple[str, ...]) -> None:
    (place / "beam=8").touch()
    assert name_systems(words, "file") == (names, files)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "x"), "x: is named twice; name each file once, or call them otherwise: NAME=x"),
        (("a=x", "a=y"), "two systems would be called 'a'; call one of them otherwise: NAME=FILE"),
        (("y=x", "y"), "two systems would be called 'y'"),
        (("a=",), "a=: should be NAME=FILE, but one of both is missing"),
        (("=x",), "=x: should be NAME=FILE, but one of both is missing"),
    ],
)
def test_names_that_cannot_be(place: Path, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        name_systems(words, "file")
