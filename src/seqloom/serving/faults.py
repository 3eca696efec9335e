"""What is wrong with a request's fields, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MOST = 3  # faults that are told


def told(errors: Sequence[Any]) -> str:
    """inputs.0.source: Input should be a valid string. What was sent is not said again: it may be long, or no text."""
    each = list(dict.fromkeys(map(_one, _meant(errors))))
    more = f"; and {len(each) - MOST} more" if len(each) > MOST else ""
    return "; ".join(each[:MOST]) + more


def _meant(errors: Sequence[Any]) -> Iterator[Any]:
    """Of an input that may be a text, a table or a list, only the faults of what it is: in no order of pydantic's,
    which follows that of the kinds in a union, and Python keeps one union for all that are equal.
    """
    places = [_union(error["loc"]) for error in errors]
    given = {
        error["loc"][:at]: error["input"]
        for error, at in zip(errors, places, strict=True)
        if at and error["loc"][at:] == ("str",)
    }
    for error, at in zip(errors, places, strict=True):
        value = given.get(error["loc"][:at])
        if not at or str(error["loc"][at]).startswith(_kind(value)):
            yield error


def _union(place: Sequence[Any]) -> int:
    """Where in the place of a fault the kind is named that an input was taken for; 0: nowhere."""
    at = {("inputs",): 3, ("input",): 2}.get(tuple(place[1:2]), 0)
    return at if len(place) > at else 0


def _kind(value: Any) -> str:
    """How pydantic's name of the kind begins that somebody meant who sent this."""
    match value:
        case dict():
            if value.keys() & {"table", "times", "series", "column"}:
                return "TableInput"
            return "Values" if "values" in value else "Input"
        case [str(), *_]:
            return "list[str]"
        case [[list(), *_], *_]:
            return "list[list[list["
        case [list(), *_]:
            return "list[list["
        case list():
            return "list[nullable["
        case _:
            return ""


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


_KINDS = {"str", "int", "float", "bool", "Input", "Values", "Draws", "TextPart", "Options", "TableInput", "list"}
