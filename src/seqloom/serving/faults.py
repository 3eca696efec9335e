"""What is wrong with a request's fields, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MOST = 3  # faults that are told


def told(errors: Sequence[Any]) -> str:
    """inputs.0.source: should be text. What was sent is not said again: it may be long, or no text."""
    places: dict[str, list[str]] = {}
    for where, what in map(_one, _meant(errors)):
        places.setdefault(where, []).append(what)
    each = [_joined(where, list(dict.fromkeys(whats))) for where, whats in places.items()]
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
        if not at:
            yield error
            continue
        kind = _kind(given.get(error["loc"][:at]), parts=at == _PLACES["input"])
        if kind is None:
            yield {"loc": error["loc"][:at], "type": "kind", "msg": _ANY}
        elif str(error["loc"][at]).startswith(kind):
            yield error


def _union(place: Sequence[Any]) -> int:
    """Where in the place of a fault the kind is named that an input was taken for; 0: nowhere."""
    at = _PLACES.get(place[1], 0) if len(place) > 1 else 0
    return at if len(place) > at else 0


_PLACES = {"inputs": 3, "input": 2}  # of several, each has a number


def _kind(value: Any, parts: bool) -> str | None:
    """How pydantic's name of the kind begins that somebody meant who sent this; None: of no kind.

    parts: a table may also say which part of it is meant.
    """
    match value:
        case dict():
            if parts and value.keys() & {"times", "series", "column"}:
                return "TableInput"
            tables = {"values": "Values", "csv": "CsvTable", "rows": "RowsTable"}
            return next((kind for name, kind in tables.items() if name in value), "Input")
        case [str(), *_]:
            return "list[str]"
        case [[list(), *_], *_]:
            return "list[list[list["
        case [list(), *_]:
            return "list[list["
        case list():
            return "list[nullable["
        case _:
            return None


def _joined(where: str, whats: Sequence[str]) -> str:
    """All that is wrong at one place; of what may be of several kinds, the kinds."""
    kinds = [what.removeprefix(_SHOULD) for what in whats if what.startswith(_SHOULD)]
    others = [what for what in whats if not what.startswith(_SHOULD)]
    what = ", ".join([*([_SHOULD + " or ".join(kinds)] if kinds else []), *others])
    return f"{where}: {what}" if where else what


def _one(error: Mapping[str, Any]) -> tuple[str, str]:
    """Where, and what."""
    where = ".".join(str(part)[:50] for part in _place(error["loc"]))
    if error["type"] == "extra_forbidden":
        return where, "there is no such field"
    if error["type"] == "missing":
        return where, "is missing" if where else f"the body is empty; {_SEND}"
    if not where and error["type"] in _TABLES:
        return where, f"the body should be a table; {_SEND}"
    bounds = error.get("ctx") or {}
    known = "a table" if error["type"] in _TABLES else _WORDS.get(error["type"], "").format(**bounds)
    return where, f"{_SHOULD}{known}" if known else str(error["msg"])


def _place(parts: Iterable[str | int]) -> list[str | int]:
    """Without "body", and without pydantic's own names for the kinds of a value."""
    return [
        part
        for part in parts
        if isinstance(part, int) or (part != "body" and part.isidentifier() and part not in _KINDS)
    ]


_SHOULD = "should be "
_SEND = 'send JSON such as {"inputs": ["a text"]}; /docs tells the fields of each path'
_ANY = _SHOULD + "a text, a list of words or of numbers, or a table"
_TABLES = ("dict_type", "model_type", "model_attributes_type")
_WORDS = {
    "list_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "greater_than_equal": "at least {ge}",
    "greater_than": "above {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "below {lt}",
    "literal_error": "{expected}",
    "too_short": "at least {min_length} long",
    "too_long": "at most {max_length} long",
}
"""What pydantic calls its errors, in our words: what should be there."""
_KINDS = {
    "str",
    "int",
    "float",
    "bool",
    "Input",
    "Values",
    "CsvTable",
    "RowsTable",
    "TableInput",
    "Draws",
    "TextPart",
    "Options",
    "list",
}
