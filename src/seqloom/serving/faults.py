"""What is wrong with a request's fields, in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST = 3  # faults that are told


def told(errors: Sequence[Any]) -> str:
    """inputs.0.source: Input should be a valid string. What was sent is not said again: it may be long, or no text."""
    each = list(dict.fromkeys(map(_one, errors)))
    more = f"; and {len(each) - MOST} more" if len(each) > MOST else ""
    return "; ".join(each[:MOST]) + more


def _one(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part)[:50] for part in _place(error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such field"
    if error["type"] == "missing":
        return f"{where}: is missing"
    return f"{where}: {error['msg']}" if where else str(error["msg"])


def _place(parts: Iterable[str | int]) -> list[str | int]:
    """Without "body", and without pydantic's own names for the kinds of a value."""
    return [
        part
        for part in parts
        if isinstance(part, int) or (part != "body" and part.isidentifier() and part not in _KINDS)
    ]


_KINDS = {"str", "int", "float", "bool", "Input", "Draws", "TextPart", "Options"}
