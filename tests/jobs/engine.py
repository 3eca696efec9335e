"""Something in CTranslate2's place, for tests that run where it is not installed too."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from seqloom.export.ctranslate2_engine import EngineFault, Line, Marks
from seqloom.generation import PairScorer
from seqloom.generation.contract import Item
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering import engines
from seqloom.text import BEGIN, END


class Fake:
    """Our own search, item by item."""

    version = "0.0"
    wrote: list[int] = []  # noqa: RUF012 (emptied for each test)
    lies = False
    fails: str | None = None

    def __init__(self, network: Any, marks: Marks, reverse: bool, kinds: Sequence[str]) -> None:
        if self.fails == "making":
            raise EngineFault("no such instruction")
        self.scorer = PairScorer(network, BEGIN, END, never=sorted(marks.never), reverse=reverse)

    def write(self, items: Sequence[Item], rows: int, kind: str) -> Iterator[list[Line]]:
        if self.fails == "writing":
            raise EngineFault("no memory left")
        for item in items:
            ((_, (one,)),) = write(self.scorer, [item], GenerationSettings(beam=1))
            tokens = (*one.tokens[:-1], 5) if self.lies else one.tokens
            self.wrote.append(item.number)
            yield [Line(item, tokens, one.log_prob if one.ended else None)]


def put_in_place(monkeypatch: pytest.MonkeyPatch, fails: str | None = None) -> type[Fake]:
    """It is tried at once, and counts as faster."""
    made = type("Made", (Fake,), {"wrote": [], "fails": fails})
    for name, value in (
        ("Engine", made),
        ("installed", lambda: True),
        ("PATIENCE", 0.0),
        ("FASTER", 0.0),
        ("LIGHTER", 0.0),
    ):
        monkeypatch.setattr(engines, name, value)
    return made
