"""Types, values and near misses in plain words."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf

from seqloom.settings.shape import Slot, discriminator, is_model, is_union, kinds, members, slot

_TYPES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list",
    dict: "a table",
}


def describe(here: Slot) -> str:
    """What a place expects."""
    bounds = ", ".join(filter(None, map(_bound, here.marks)))
    return _describe_type(here) + (f" ({bounds})" if bounds else "")


def _describe_type(here: Slot) -> str:
    if by_kind := kinds(here):
        return f"a table with {discriminator(here)} = {one_of(by_kind)}"
    if is_union(here.type):
        each = [describe(slot(member)) for member in members(here.type)]
        return (", or " if any(" or " in words for words in each) else " or ").join(each)
    if get_origin(here.type) is Literal:
        return one_of(get_args(here.type))
    if is_model(here.type):
        return _TYPES[dict]
    bare = get_origin(here.type) or here.type
    return _TYPES.get(bare) or "a " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare.__name__).lower()


def _bound(mark: Any) -> str:
    match mark:
        case Gt(gt=limit):
            return f"above {limit}"
        case Ge(ge=limit):
            return f"at least {limit}"
        case Lt(lt=limit):
            return f"below {limit}"
        case Le(le=limit):
            return f"at most {limit}"
        case MultipleOf(multiple_of=step):
            return f"a multiple of {step}"
        case MinLen(min_length=limit):
            return f"at least {limit} long"
        case MaxLen(max_length=limit):
            return f"at most {limit} long"
        case _:
            return ""


def one_of(words: Iterable[Any]) -> str:
    """'a', 'b' or 'c'"""
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}" if first else last


def counted(count: int, one: str, many: str | None = None) -> str:
    """1 line, 2,000 lines. many: where it is more than an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def whole(value: object, least: int) -> bool:
    """Whether it is a whole number from the least on; Python counts True as one."""
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least


def show(value: object) -> str:
    """A value as its writer would know it again; what is large is named only."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a table"
        case list() | tuple():
            return f"a list of {len(value)}"
        case str() if len(value) > 60:
            return repr(value[:59] + "…")
        case str() | int() | float():
            return repr(value)
        case _:
            return str(value)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant, if any is close."""
    plain = {_plain(candidate): candidate for candidate in words}
    close = get_close_matches(_plain(word), plain, n=1)
    return plain[close[0]] if close else None


def _plain(word: str) -> str:
    return word.lower().replace("_", "-").replace(" ", "-")
