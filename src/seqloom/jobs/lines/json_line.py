"""JSON for other programs: what is no number is null, as JSON has no NaN and no Infinity."""

import json
import math
from typing import Any


def json_line(record: Any) -> str:
    """With a line feed at the end."""
    return json_text(record)


def json_text(record: Any, indent: int | None = None) -> str:
    """indent: spaces for each level, on lines of their own; None: all on one line."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        text = json.dumps(_plain(record), ensure_ascii=False, allow_nan=False, indent=indent)
    return text + "\n"


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value
