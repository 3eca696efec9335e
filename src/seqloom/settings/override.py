"""Settings given on the command line: `--set model.width=512`."""

import tomllib
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from seqloom.settings.base import SettingsError
from seqloom.settings.lines import KeyPath
from seqloom.settings.words import show

KIND = "kind"


def apply(override: str, data: dict[str, Any], schema: type[BaseModel] | None = None) -> KeyPath:
    """Change `data` as the override says; return the path that it set.

    schema: a table that is not there begins as the schema's default, so that `optimiser.rate=0.1` needs no kind.
    """
    names, value = _read(override)
    here: Any = data
    path: KeyPath = ()
    default: Any = schema
    for name, below in pairwise(names):
        step = _step(override, here, name, path)
        path = (*path, step)
        default = _default(default, name)
        first = {} if below == KIND else _written(default)
        here = here.setdefault(step, first) if isinstance(here, dict) else here[step]
    step = _step(override, here, names[-1], path)
    here[step] = value
    return (*path, step)


def _default(above: Any, name: str) -> Any:
    """What stands under a name by default, in a class or in an instance of settings; None: nothing that helps."""
    if isinstance(above, type) and issubclass(above, BaseModel):
        field = above.model_fields.get(name)
        return None if field is None or field.is_required() else field.get_default()
    return getattr(above, name, None) if isinstance(above, BaseModel) else None


def _written(default: Any) -> dict[str, Any]:
    """A table for settings that have a kind: the kind, and what differs from its defaults."""
    if not isinstance(default, BaseModel) or KIND not in type(default).model_fields:
        return {}
    return {KIND: getattr(default, KIND), **default.model_dump(mode="json", exclude_unset=True, exclude_none=True)}


def _read(override: str) -> tuple[list[str], Any]:
    name, equals, value = override.partition("=")
    names = _names(name.strip())
    if not equals or not names:
        raise SettingsError(f"--set {override}: should be name=value, as in --set model.width=512")
    return names, _value(override, value.strip())


def _names(dotted: str) -> list[str]:
    """The names of a dotted key, by TOML's own rules; none if it is not a key."""
    try:
        table: Any = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(table, dict) and len(table) == 1:
        ((name, table),) = table.items()
        names.append(name)
    return names


def _value(override: str, text: str) -> Any:
    """A TOML value, or else plain text, so that words need no quotes."""
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        if text.startswith(("[", "{", '"', "'")):
            raise SettingsError(f"--set {override}: the value is not valid TOML; words in it need quotes") from None
        return text
    return table["value"] if len(table) == 1 else text


def _step(override: str, here: Any, name: str, path: KeyPath) -> str | int:
    """The name as a key of a table or as a number in a list."""
    place = ".".join(map(str, path))
    if isinstance(here, dict):
        return name
    if not isinstance(here, list):
        raise SettingsError(f"--set {override}: {place} is {show(here)}, not a table")
    if not name.isdecimal() or int(name) >= len(here):
        raise SettingsError(f"--set {override}: {place} is a list of {len(here)}; items go by number, from 0")
    return int(name)
