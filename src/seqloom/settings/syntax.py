"""TOML text to tables; what the parser refuses is said in plain words."""

import re
import tomllib
from typing import Any

from seqloom.settings.base import SettingsError


def parse(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text; `name` stands for the file in messages."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, position = str(error).rpartition(" (at ")
    lines = text.rstrip().splitlines() or [""]
    found = re.match(r"line (\d+), column (\d+)", position)
    line, column = (int(found[1]), f" (column {found[2]})") if found else (len(lines), " (at the end of the file)")
    raise SettingsError(f"{name}:{line}: {_say(reason, column, lines[min(line, len(lines)) - 1])}")


def _say(reason: str, column: str, line: str) -> str:
    if declared := re.match(r"Cannot declare \((.*?),?\) twice", reason):
        table = ".".join(part.strip("'") for part in declared[1].split(", "))
        return f"[{table}] is declared twice; join the two"
    if reason == "Cannot overwrite a value":
        key = re.match(r"\s*([^=\[{#]+?)\s*=", line)
        return f"{repr(key[1]) if key else 'this'} is set twice; remove one of the two"
    return f"not valid TOML: {reason[:1].lower()}{reason[1:]}{column}"
