"""Series, one by one → rows of a readable size: a series may be a few numbers, or a large picture."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from seqloom.data.reading.block import ROWS, Places, Rows
from seqloom.data.reading.faults import Broken

NUMBERS = 1 << 22
"""That are held at once."""
UNLABELLED = "?"
"""Stands for a label where none is asked for."""
LINES = Places()


class One(NamedTuple):
    """A series, and the line where it begins. values: an array, lists of JSON, or why there is none."""

    line: int
    values: Any
    label: Any


def gathered(
    file: str,
    series: Iterable[One],
    consumed: Callable[[], int],
    names: tuple[str, ...] = (),
    by_steps: bool = False,
    places: Places = LINES,
) -> Iterator[Rows]:
    """consumed: how many bytes of the file were read so far. names: of the channels. by_steps: a line for each step.

    places: what messages call a line.
    """
    waiting, numbers, before = list[One](), 0, 0
    for one in series:
        waiting.append(one)
        numbers += one.values.size if isinstance(one.values, np.ndarray) else 0
        if numbers >= NUMBERS or len(waiting) == ROWS:
            now = consumed()
            yield _rows(file, waiting, now - before, names, by_steps, places)
            waiting, numbers, before = [], 0, now
    if waiting:
        yield _rows(file, waiting, consumed() - before, names, by_steps, places)


def _rows(file: str, series: list[One], size: int, names: tuple[str, ...], by_steps: bool, places: Places) -> Rows:
    lines, values, labels = map(list, zip(*series, strict=True))
    return Rows((file, file), lines, (values, labels), size, names=names, by_steps=by_steps, places=places)


def broken(line: int, reason: str, what: str, fix: str = "mend the line") -> One:
    fault = Broken(reason, what, fix)
    return One(line, fault, fault)
