"""pydantic's errors as faults in the words of the person who wrote the recipe."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from seqloom.settings.lines import KeyPath
from seqloom.settings.misnamed import misnamed
from seqloom.settings.shape import Slot, discriminator, follow, kinds, literals
from seqloom.settings.words import describe, nearest, one_of, show

# What `describe` puts into words: a wrong type, a bound, a choice.
_DESCRIBED = ("_type", "_parsing", "_from_float", "_than", "_than_equal", "too_short", "too_long")
_DESCRIBED_WHOLE = ("literal_error", "multiple_of", "finite_number")


@dataclass(frozen=True)
class Fault:
    """One mistake: the setting to blame, and what is wrong."""

    path: KeyPath
    text: str


def explain(error: ValidationError, schema: type[BaseModel], data: Mapping[str, Any]) -> list[Fault]:
    """Every fault of `data`, each once."""
    faults: dict[Fault, None] = {}
    meant: set[KeyPath] = set()  # settings that were written under a misspelt name, so not really missing
    for details in sorted(error.errors(include_url=False), key=lambda details: details["type"] == "missing"):
        path, here = follow(schema, details["loc"])
        match details["type"]:
            case "extra_forbidden":
                remedy, near = misnamed(schema, details["loc"])
                meant.add((*path[:-1], near or ""))
                faults[Fault(path, f"{table_name(path[:-1])} has no setting {path[-1]!r}{remedy}")] = None
            case "missing":
                if path not in meant:
                    short = isinstance(path[-1], int)  # a list
                    needs = (
                        f"{_setting(path[:-1])} needs one more item"
                        if short
                        else f"{table_name(path[:-1])} needs {path[-1]!r}"
                    )
                    faults[Fault(path, f"{needs}: {describe(here)}")] = None
            case "impossible":
                for at, reason in details["ctx"]["faults"]:
                    faults[Fault((*path, *at), _about((*path, *at), data) + reason)] = None
            case _:
                faults[_fault(details, path, here, data)] = None
    return list(faults)


def _fault(details: ErrorDetails, path: KeyPath, here: Slot, data: Mapping[str, Any]) -> Fault:
    match details["type"], details.get("ctx", {}):
        case "union_tag_not_found", _:
            return Fault(path, f"{table_name(path)} needs a {discriminator(here)}: {one_of(kinds(here))}")
        case "union_tag_invalid", _:
            return _unknown_kind(path, here, data)
        case "value_error" | "assertion_error", {"error": reason}:
            return Fault(path, _about(path, data) + str(reason))
        case kind, _ if kind.endswith(_DESCRIBED) or kind in _DESCRIBED_WHOLE:
            return Fault(path, _setting(path) + f" should be {describe(here)}, not " + _shown(path, here, data))
        case _:
            return Fault(path, f"{_setting(path)}: {details['msg']}")


def _unknown_kind(path: KeyPath, here: Slot, data: Mapping[str, Any]) -> Fault:
    name = str(discriminator(here))
    value = find(data, (*path, name))
    near = nearest(str(value), kinds(here))
    every = ", ".join(kinds(here))
    remedy = f"did you mean {near!r}? ({name}s: {every})" if near else f"the {name}s are {every}"
    return Fault((*path, name), f"{table_name(path)} has no {name} {show(value)}; {remedy}")


def _shown(path: KeyPath, here: Slot, data: Mapping[str, Any]) -> str:
    value = find(data, path)
    near = nearest(value, literals(here)) if isinstance(value, str) else None
    return show(value) + (f"; did you mean {near!r}?" if near else "")


def find(data: Any, path: KeyPath) -> Any:
    """The value in a place; None where nothing stands."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def table_name(path: KeyPath) -> str:
    """`[model.mixer]`, as a header would say it."""
    return f"[{'.'.join(map(str, path))}]" if path else "the top level"


def _setting(path: KeyPath) -> str:
    """`[model.mixer] heads`; the items of a list go by number: `[model] mixer.0`."""
    cut = max((place for place, step in enumerate(path) if isinstance(step, str)), default=0)
    name = ".".join(map(str, path[cut:]))
    return f"{table_name(path[:cut])} {name}" if cut else name


def _about(path: KeyPath, data: Mapping[str, Any]) -> str:
    """The table that a fault is about, to put before its reason."""
    table = path if isinstance(find(data, path), Mapping) else path[:-1]
    return f"{table_name(table)} " if table else ""
