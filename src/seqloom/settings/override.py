"""Settings given on the command line: `--set model.width=512`."""

import tomllib
from typing import Any

from seqloom.settings.base import SettingsError
from seqloom.settings.lines import KeyPath
from seqloom.settings.words import show


def apply(override: str, data: dict[str, Any]) -> KeyPath:
    """Change `data` as the override says; return the path that it set."""
    names, value = _read(override)
    here: Any = data
    path: KeyPath = ()
    for name in names[:-1]:
        step = _step(override, here, name, path)
        path = (*path, step)
        here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
    step = _step(override, here, names[-1], path)
    here[step] = value
    return (*path, step)


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
