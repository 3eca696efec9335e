"""Settings given on the command line: `--set model.width=512`."""

import tomllib
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, Tag

from seqloom.settings.base import SettingsError
from seqloom.settings.lines import KeyPath
from seqloom.settings.shape import Slot, inside, is_union, kinds, members, names, slot
from seqloom.settings.words import show

KIND = "kind"


def apply(override: str, data: dict[str, Any], schema: type[BaseModel] | None = None) -> KeyPath:
    """Change `data` as the override says; return the path that it set.

    schema: a table that is not there begins as the schema's default, so that `optimiser.rate=0.1` needs no kind.
    """
    given, value = _read(override)
    here: Any = data
    path: KeyPath = ()
    default: Any = schema
    for name, below in pairwise(given):
        step = _step(override, here, name, path)
        path = (*path, step)
        default = _default(default, name)
        first = {} if below == KIND else _written(default)
        here = here.setdefault(step, first) if isinstance(here, dict) else here[step]
    step = _step(override, here, given[-1], path)
    if step == KIND and schema is not None and here.get(KIND) != value:
        _keep_what_it_has(here, value, _table(schema, data, path))
    here[step] = value
    return (*path, step)


def _keep_what_it_has(table: dict[str, Any], kind: Any, here: Slot) -> None:
    """Another kind has other settings: those that it does not have go with the kind that had them."""
    if kind in kinds(here):
        known = names(slot(kinds(here)[kind]))
        for name in [name for name in table if name not in known]:
            del table[name]


def _table(schema: type[BaseModel], data: Any, path: KeyPath) -> Slot:
    """What the schema expects under a path, where unions are told apart by what is written."""
    here = slot(schema)
    for step in path:
        here = inside(_variant(here, data), step)
        data = data[step]
    return _one(here, data)


def _variant(here: Slot, value: Any) -> Slot:
    here = _one(here, value)
    member = kinds(here).get(str(value.get(KIND))) if isinstance(value, dict) else None
    return here if member is None else slot(member)


def _one(here: Slot, value: Any) -> Slot:
    """Of a place that takes one or many, the form that is written."""
    for form in members(here.type) if is_union(here.type) else []:
        if Tag("many" if isinstance(value, list) else "one") in slot(form).marks:
            return slot(form)
    return here


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
