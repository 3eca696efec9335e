"""What is known of a file of answers: what was asked, how many lines of input it answers, and how long it is."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seqloom.settings import UserError
from seqloom.store.atomic import write_text


@dataclass(frozen=True)
class OutputNote:
    """asked: what the answers depend on, besides the input. input: the digest of the lines that are answered."""

    asked: dict[str, Any]
    lines: int = 0
    bytes: int = 0
    input: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")

    def others(self, asked: Mapping[str, Any]) -> str:
        """What is asked otherwise now, in words; empty: nothing."""
        return " and ".join(_others(self.asked, json.loads(json.dumps(asked))))


def read_note(path: Path) -> OutputNote:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        known = {"asked": dict, "lines": int, "bytes": int, "input": str, "counts": dict}
        if not all(isinstance(note[name], kind) for name, kind in known.items()):
            raise TypeError("not what it should hold")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start anew with --force") from None
    return OutputNote(**{name: note[name] for name in known})


def _others(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in {**now, **before}:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{name}.{one}" for one in _others(old, new))
        elif old != new:
            yield name
