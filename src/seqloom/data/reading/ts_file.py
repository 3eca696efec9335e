"""The .ts format of the UEA and UCR archives: a header of @words, then a series a line.

@classLabel true walking running
@data
0.1,0.2,0.3:9,8,7:walking        two dimensions of three steps, and the class; ? is a missing reading
"""

from collections.abc import Iterator

import numpy as np

from seqloom.data.reading.block import ROWS, Rows
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.numbers import numbers_of
from seqloom.data.reading.series_rows import UNLABELLED, One, broken, gathered


def read_ts(name: str, labelled: bool = True) -> Iterator[Rows]:
    with Lines(name) as file:
        yield from gathered(file.name, _series(file, labelled), lambda: file.consumed)


def _series(file: Lines, labelled: bool) -> Iterator[One]:
    classes: frozenset[str] | None = None
    number, begun = 0, False
    while lines := file.take(ROWS):
        for line in lines:
            number += 1
            if isinstance(line, Broken):
                yield One(number, line, line)
            elif begun and line.strip() and not line.startswith("#"):
                yield _one(line, number, classes, labelled)
            elif not begun and line.strip() and not line.startswith("#"):
                word, *values = line.split()
                begun = word.lower() == "@data"
                classes = _classes(values, f"{file.name}:{number}") if word.lower() == "@classlabel" else classes
                _refuse(word, values, f"{file.name}:{number}")
    if not begun:
        raise DataError(f"{file.name}: no line @data, behind which a .ts file has its series; is it the right file?")


def _refuse(word: str, values: list[str], place: str) -> None:
    if not word.startswith("@"):
        raise DataError(f"{place}: {word[:20]!r} stands before the line @data; each line there begins with @ or #")
    if word.lower() == "@timestamps" and values[:1] and values[0].lower() == "true":
        raise DataError(f"{place}: series with a timestamp at each reading are not read; write them as a CSV of steps")
    if word.lower() == "@targetlabel" and values[:1] and values[0].lower() == "true":
        raise DataError(f"{place}: each series has a number as its target, and no class; this task names classes")


def _classes(values: list[str], place: str) -> frozenset[str] | None:
    """None: the series have none."""
    if not values or values[0].lower() not in ("true", "false"):
        raise DataError(f"{place}: should be @classLabel true and all classes, or @classLabel false")
    return frozenset(values[1:]) if values[0].lower() == "true" else None


def _one(line: str, number: int, classes: frozenset[str] | None, labelled: bool) -> One:
    parts = line.split(":")
    if classes is None and labelled:
        return broken(number, "no label", "the series have no class: @classLabel is not true", "add the classes")
    label = UNLABELLED if classes is None else parts.pop().strip()
    if classes and labelled and label not in classes:
        known = ", ".join(sorted(classes)[:10])
        return broken(
            number, "an unknown class", f"the class {label!r} is none of those that @classLabel names ({known})"
        )
    dimensions = [numbers_of(part.split(",")) for part in parts]
    for place, one in enumerate(dimensions, 1):
        if isinstance(one, Broken):
            return broken(number, one.reason, f"dimension {place}: {one.what}", one.fix)
        first = dimensions[0]
        assert not isinstance(first, Broken)
        if len(one) != len(first):
            what = f"dimension {place} has {len(one)} steps, but dimension 1 has {len(first)}"
            return broken(number, "dimensions of unequal length", what)
    if not dimensions:
        return broken(number, "no readings", "no readings before the class")
    return One(number, np.stack([one for one in dimensions if not isinstance(one, Broken)], 1), label)
