"""A closed list of tags or classes, each with a number."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from seqloom.settings import UserError
from seqloom.text import json_file

NONE = -1
UNSEEN = -2
"""A label that is not in the list, where that is no mistake: no model can give it, so every answer is wrong.
Where their names are kept, the first of them has this number, and the others those below it."""
_WHAT = "a list of labels"


class Labels:
    """The labels that a model can give; it never changes."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._ids = {name: id for id, name in enumerate(self.names)}
        if len(self._ids) != len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise ValueError(f"the label {twice!r} is there twice")

    @classmethod
    def train(cls, labels: Iterable[str]) -> "Labels":
        """The most frequent first, equally frequent ones by name."""
        counts = Counter(labels)
        if not counts:
            raise UserError("there are no labels to learn; give examples that have one")
        return cls(sorted(counts, key=lambda name: (-counts[name], name)))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, label: str) -> bool:
        return label in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Labels({list(self.names)!r})"

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.names).encode()).hexdigest()

    def encode(self, labels: Iterable[str], unknown: Literal["error", "unseen"] = "error") -> list[int]:
        """Their ids; for a label that is not in the list an error or, with "unseen", UNSEEN."""
        labels = list(labels)
        ids = [self._ids.get(label, UNSEEN) for label in labels]
        if unknown == "error" and UNSEEN in ids:
            strange = labels[ids.index(UNSEEN)]
            known = ", ".join(self.names[:20]) + (", …" if len(self) > 20 else "")
            raise UserError(f"no such label: {strange!r}; the labels are {known}")
        return ids

    def decode(self, ids: Iterable[int]) -> list[str]:
        return [self.names[id] for id in ids]

    def save(self, path: str | Path) -> None:
        content = {"labels": list(self.names)}
        json_file.write(Path(path), json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Labels":
        file = Path(path)
        match json_file.parse(file, _WHAT):
            case {"labels": [*names]} if names and all(isinstance(name, str) for name in names):
                try:
                    return cls(names)
                except ValueError as error:
                    raise json_file.broken(file, _WHAT, str(error)) from None
            case _:
                raise json_file.broken(file, _WHAT, 'it needs {"labels": ["…", …]}')
