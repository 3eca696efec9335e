"""The n-th example of a part → its file and line, and its text."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqloom.data.check.report import shortened
from seqloom.data.reading import Block, Shape, read
from seqloom.data.reading.block import Places
from seqloom.data.readings import series_text
from seqloom.data.settings import Corpus


class Where(NamedTuple):
    corpus: Corpus
    file: str
    line: int
    place: str
    """what messages call it"""

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True)
class _Stretch:
    start: int
    corpus: Corpus
    file: str
    lines: Sequence[int]
    places: Places


class Whereabouts:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._stretches: list[_Stretch] = []
        self._count = 0

    def add(self, corpus: Corpus, block: Block) -> None:
        self._stretches.append(_Stretch(self._count, corpus, block.file, _compact(block.lines), block.places))
        self._count += len(block.lines)

    def where(self, index: int) -> Where:
        stretch = self._stretches[bisect_right(self._stretches, index, key=lambda stretch: stretch.start) - 1]
        line = int(stretch.lines[index - stretch.start])
        return Where(stretch.corpus, stretch.file, line, stretch.places.of(stretch.file, line))

    def texts(self, wheres: Sequence[Where]) -> list[str]:
        """The first fields there: the files are read again as far as needed, as texts are kept nowhere."""
        found: dict[Where, str] = {}
        for corpus in {where.corpus.files: where.corpus for where in wheres}.values():
            wanted = {where.line for where in wheres if where.corpus == corpus}
            for block in read(corpus, self._shape, "skip"):
                if block.lines and min(wanted) <= block.lines[-1]:
                    for line, text in zip(block.lines, as_texts(block.columns[0]), strict=True):
                        if line in wanted:
                            found[Where(corpus, block.file, line, block.places.of(block.file, line))] = shortened(text)
                            wanted.discard(line)
                if not wanted:
                    break
        return [found.get(where, "") for where in wheres]


def as_texts(column: list[Any]) -> list[str]:
    """Lists of words as texts, series in a few words, texts as they are."""
    if column and isinstance(column[0], np.ndarray):
        return [series_text(x) for x in column]
    return [" ".join(value) for value in column] if column and isinstance(column[0], list) else column


def _compact(lines: Sequence[int]) -> Sequence[int]:
    """Most blocks are without gaps: then two numbers say it all."""
    if len(lines) == lines[-1] - lines[0] + 1:
        return range(lines[0], lines[-1] + 1)
    packed: Any = np.asarray(lines, np.int64)
    return packed
