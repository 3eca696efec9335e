"""What is known of a file of answers: what was asked, how many lines of input it answers, and how long it is."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seqloom.settings import UserError
from seqloom.store.atomic import write_text

BATCH = "batch"
"""Of all that is asked, what follows from the rest: a wider beam has a smaller one, texts alone have none."""


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
        """What was asked otherwise then, in words, such as "without --scores"; empty: nothing."""
        found = dict(_others(self.asked, json.loads(json.dumps(asked))))
        return " and ".join(words for name, words in found.items() if name != BATCH or len(found) == 1)


def read_note(path: Path) -> OutputNote:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        known = {"asked": dict, "lines": int, "bytes": int, "input": str, "counts": dict}
        if not all(isinstance(note[name], kind) for name, kind in known.items()):
            raise TypeError("not what it should hold")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start anew with --force") from None
    return OutputNote(**{name: note[name] for name in known})


def _others(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The name of what differs, and how it was before."""
    for name in {**now, **before}:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _others(old, new, f"{within}{name}.")
        elif old != new:
            yield within + name, _was(within + name, old)


def _was(name: str, old: Any) -> str:
    if old in (None, False):
        return f"without {name}"
    if old is True:
        return f"with {name}"
    return f"with {name} {old}" if name.startswith("--") else f"with another {name}"
