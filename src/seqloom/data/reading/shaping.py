"""Raw rows → examples of a shape; what cannot be one is a fault."""

import math
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from seqloom.data.reading.block import FIELDS, Block, Rows, Shape
from seqloom.data.reading.faults import Broken, Faults
from seqloom.data.reading.numbers import series_of


def block_of(rows: Rows, shape: Shape, faults: Faults) -> Block:
    """The rows that are examples."""
    lines: Sequence[int] = rows.lines
    columns = rows.columns
    if shape == "tags" or not all(_plain(column, rows.blank) for column in rows.columns):
        lines, columns = _one_by_one(rows, shape, faults)
    report = faults.taken()
    about = rows.names, report, rows.places, rows.by_steps
    return Block(rows.files[0], lines, columns, report.total, rows.bytes, *about)


def _plain(column: list[Any], blank: bool) -> bool:
    """Whether every value is text and none is empty, unless it may be: then there is nothing to look at one by one."""
    return set(map(type, column)) <= {str} and (blank or all(map(str.strip, column)))


def _one_by_one(rows: Rows, shape: Shape, faults: Faults) -> tuple[list[int], tuple[list[Any], ...]]:
    convert = _CONVERT[shape]
    lines: list[int] = []
    examples: list[list[Any]] = []
    for line, *raw in zip(rows.lines, *rows.columns, strict=True):
        values = [to(value, field) for to, value, field in zip(convert, raw, FIELDS[shape], strict=True)]
        if _usable(values, line, rows, shape, faults):
            lines.append(line)
            examples.append(values)
    columns = tuple(map(list, zip(*examples, strict=True))) or tuple([] for _ in FIELDS[shape])
    return lines, columns


def _usable(values: list[Any], line: int, rows: Rows, shape: Shape, faults: Faults) -> bool:
    for column, value in enumerate(values):
        if isinstance(value, Broken):
            faults.fault(rows.place(column, line), value)
            return False
    if rows.blank:
        return True
    empty = [_is_empty(value) for value in values]
    if all(empty):
        faults.blank(rows.place(0, line), "blank line" if len(set(rows.files)) == 1 else "both sides empty")
        return False
    if any(empty):
        at = empty.index(True)
        faults.fault(f"{rows.files[at]}:{line}", _one_empty(at, line, rows, shape))
        return False
    if shape == "tags" and len(values[0]) != len(values[1]):
        what = f"{len(values[0])} words but {len(values[1])} tags"
        faults.fault(f"{rows.files[1]}:{line}", Broken("words and tags differ in number", what))
        return False
    return True


def _is_empty(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.size
    return not (value.strip() if isinstance(value, str) else value)


def _one_empty(at: int, line: int, rows: Rows, shape: Shape) -> Broken:
    this, other = FIELDS[shape][at], FIELDS[shape][1 - at]
    if len(set(rows.files)) == 1:
        what = f"the {this} is empty, but the {other} is not"
        return Broken(f"the {this} is empty", what, "remove the line")
    beside = PurePath(rows.files[1 - at]).name
    return Broken(f"the {this} is empty", f"empty, but {beside}:{line} is not", "remove both lines")


def _text(value: Any, field: str) -> Any:
    if isinstance(value, str | Broken):
        return value
    if field == "target" and isinstance(value, int | float) and not math.isnan(value):
        fix = "write it as text, or if it names a class: --set task.kind=classify"
        reason = "the target is a number, which --set task.kind=classify takes as a class"
        return Broken(reason, f"the target should be text, but is {_named(value)}", fix)
    return Broken(f"the {field} is no text", f"the {field} should be text, but is {_named(value)}")


def _label(value: Any, field: str) -> Any:
    """A number may name a class."""
    return str(value) if isinstance(value, int) else _text(value, field)


def _named_class(value: Any, field: str) -> Any:
    """Also one with a fraction: stars of a review. NaN is a label that is missing."""
    return str(value) if isinstance(value, float) and math.isfinite(value) else _label(value, field)


def _words(value: Any, field: str) -> Any:
    """A list, or text with spaces between the words."""
    if isinstance(value, str):
        return [word for word in value.split(" ") if word]
    if not isinstance(value, list | tuple):
        return _text(value, field)
    words = [_named_class(word, field) for word in value]
    for word, raw in zip(words, value, strict=True):
        if isinstance(word, Broken):
            return Broken(word.reason, f"the {field} should be a list of texts, but one is {_named(raw)}")
        if not word.strip():
            return Broken(f"one of the {field} is empty", f"one of the {field} is empty")
    return words


def _series(value: Any, field: str) -> Any:
    """An array, values_TC; a picture may have a line's pixels as a further dimension."""
    if isinstance(value, np.ndarray | Broken):
        return value
    if value == "":  # a blank line
        return np.empty((0, 1))
    return series_of(value)


def _named(value: Any) -> str:
    match value:
        case None:
            return "missing"
        case float() if math.isnan(value):
            return "missing"
        case bool():
            return f"{str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case list() | tuple():
            return "a list"
        case dict():
            return "a table"
        case _:
            return type(value).__name__


_CONVERT: dict[Shape, tuple[Callable[[Any, str], Any], ...]] = {
    "pairs": (_text, _text),
    "text": (_text,),
    "tags": (_words, _words),
    "classes": (_text, _named_class),
    "timeline": (),
    "series": (_series, _label),
}
