"""A recipe from a file or a text to checked settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from seqloom.settings import override
from seqloom.settings.base import SettingsError
from seqloom.settings.faults import Fault, explain
from seqloom.settings.lines import KeyPath, locate
from seqloom.settings.syntax import parse

T = TypeVar("T", bound=BaseModel)


def load(path: str | PathLike[str], schema: type[T], overrides: Sequence[str] = ()) -> T:
    """The settings in a TOML file, changed by `overrides` ("model.width=512"). Raises SettingsError."""
    return loads(text_of(path), schema, overrides, name=str(path))


def loads(text: str, schema: type[T], overrides: Sequence[str] = (), name: str = "<text>") -> T:
    """The settings in a TOML text; `name` stands for the file in messages. Raises SettingsError."""
    data = parse(text, name)
    places: dict[KeyPath, _Place] = {(): _Place(0, 1, f"{name}:1")}
    places |= {path: _Place(0, line, f"{name}:{line}") for path, line in locate(text).items()}
    for number, given in enumerate(overrides):
        _override(places, override.apply(given, data, schema), _set(number, given))
    try:
        return schema.model_validate(_frozen(data))
    except ValidationError as error:
        every, faults = explain(error, schema, data), list[tuple[_Place, Fault]]()
        for fault in every:
            place = _nearest(places, fault.path)
            cause = None if place.source else _cause(text, schema, overrides, fault, every)
            faults.append((cause or place, fault))
        faults.sort(key=lambda found: (found[0].source, found[0].number))
        raise SettingsError("\n".join(f"{place.text}: {fault.text}" for place, fault in faults)) from None


def text_of(path: str | PathLike[str]) -> str:
    """What a file of settings says. Raises SettingsError."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise SettingsError(f"{path}: is a folder; name a TOML file in it") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path}:{line}: not UTF-8 text; save the file in the encoding UTF-8") from None


@dataclass(frozen=True)
class _Place:
    """Where a setting was given: in the file (source 0) at a line, or by an override (source 1) in its turn."""

    source: int
    number: int
    text: str


def _set(number: int, given: str) -> _Place:
    return _Place(1, number, f"--set {given}")


def _cause(
    text: str, schema: type[BaseModel], overrides: Sequence[str], fault: Fault, every: Sequence[Fault]
) -> _Place | None:
    """The last override without which a fault would not be, wherever it shows; None: the file has it by itself.

    every: all faults. Where others come up without the override, it is not known whether this one is only hidden.
    """
    for number in reversed(range(len(overrides))):
        data, left = parse(text, ""), list[Fault]()
        try:
            for given in overrides:
                if _name(given) != _name(overrides[number]):  # of a name that is set twice the last one counts
                    override.apply(given, data, schema)
            schema.model_validate(_frozen(data))
        except SettingsError:
            continue  # another one cannot do without it
        except ValidationError as error:
            left = explain(error, schema, data)
        if set(left) <= set(every) - {fault}:
            return _set(number, overrides[number])
    return None


def _name(given: str) -> str:
    return given.partition("=")[0].strip()


def _override(places: dict[KeyPath, _Place], path: KeyPath, place: _Place) -> None:
    for old in [old for old in places if old[: len(path)] == path]:
        del places[old]
    for length in range(1, len(path)):
        places.setdefault(path[:length], place)
    places[path] = place


def _nearest(places: dict[KeyPath, _Place], path: KeyPath) -> _Place:
    """The place of a path or, where nothing was written there, of the closest table above."""
    while path not in places:
        path = path[:-1]
    return places[path]


def _frozen(value: Any) -> Any:
    """Settings hold tuples, never lists."""
    match value:
        case dict():
            return {name: _frozen(inner) for name, inner in value.items()}
        case list():
            return tuple(_frozen(inner) for inner in value)
        case _:
            return value
