"""What a demo is made of."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Example:
    """A source, the answer to it, and the slice that errors are counted in: a language, a direction, a length."""

    source: str
    target: str
    slice: str
    also: tuple[str, ...] = ()
    """Other answers that are right too; training does not see them."""


@dataclass(frozen=True)
class Demo:
    """Examples in three splits; `shape` says whether a target is a sequence (pairs) or one of few labels (classes)."""

    name: str
    title: str
    shape: Literal["pairs", "classes"]
    train: list[Example]
    valid: list[Example]
    test: list[Example]


def without_clashes(*splits: list[Example]) -> list[list[Example]]:
    """Leave out every source that has two answers, wherever it stands: nobody could tell which one is asked for."""
    answers: dict[str, str] = {}
    clashes = set()
    for example in (example for split in splits for example in split):
        if answers.setdefault(example.source, example.target) != example.target:
            clashes.add(example.source)
    return [[example for example in split if example.source not in clashes] for split in splits]
