"""Settings back to TOML text."""

import json
import re
from datetime import date, time
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel

LINE = 100


def dump(settings: BaseModel, defaults: bool = True) -> str:
    """Text that loads to equal settings: every default written out (but see `Changes`), what is None left out.

    defaults: False leaves out what nobody set, so that a variant can still be exchanged by its `kind` alone.
    """
    values = settings.model_dump(exclude_none=True, exclude_unset=not defaults)
    return "\n".join(_table(values, ())).strip("\n") + "\n"


def _table(values: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """The lines of a table. A table inside it is written in one line where that is short, below the top level."""
    lines, tables = [], []
    for name, value in _kind_first(values):
        line = f"{_key(name)} = {_value(value, path != ())}"
        if isinstance(value, dict) and (not path or len(line) > LINE):
            inner = (*path, _key(name))
            tables += ["", f"[{'.'.join(inner)}]", *_table(value, inner)]
        else:
            lines.append(line)
    return lines + tables


def _kind_first(values: dict[str, Any]) -> list[tuple[str, Any]]:
    """A reader wants to know first what a table is, though a class may inherit settings that precede its kind."""
    return sorted(values.items(), key=lambda item: item[0] != "kind")


def _value(value: Any, spread: bool = False) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str() | PurePath():
            # DEL is the one character that TOML wants escaped and JSON does not.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
        case date() | time():
            return value.isoformat()
        case dict():
            inner = ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in _kind_first(value))
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            items = [_value(item) for item in value]
            if spread and any(isinstance(item, dict) for item in value):
                return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
            return f"[{', '.join(items)}]"
        case _:
            raise TypeError(f"TOML has no way to write {value!r}")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)
