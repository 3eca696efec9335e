"""Looks at a model while it learns: a file each, of which a run keeps a hundred, spread over its whole course."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from seqloom.store.atomic import readable, reported, write_tensors, write_text
from seqloom.store.weights import read_tensors

MOST = 100


@dataclass(frozen=True)
class LookFile:
    """number: which validation it was made at, from 0 on."""

    path: Path
    number: int
    step: int

    def read(self) -> Tensor:
        """weights_HTS"""
        return read_tensors(self.path)["weights"]


class LooksFolder:
    """runs/NAME/looks/. Which are kept depends on their number alone, so that a run that was killed and goes on keeps
    the same ones as one that never stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about = path / "about.json"

    def begin(self, about: dict[str, Any]) -> None:
        """about: of what all looks are."""
        with reported(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.about, json.dumps(about, ensure_ascii=False) + "\n")

    def read_about(self) -> dict[str, Any]:
        """Empty where there is nothing, or nothing that can be read: nobody needs it to go on."""
        try:
            found = json.loads(self.about.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def add(self, number: int, step: int, weights_HTS: Tensor) -> None:
        write_tensors(self.path / f"look-{number:06}-step-{step:08}.safetensors", {"weights": weights_HTS})
        every = stride(number + 1)
        with reported(self.path):
            for file in self.files():
                if file.number % every and file.number < number:
                    file.path.unlink()

    def keep(self, until: int) -> None:
        """Those up to a step; what a killed run left behind its last checkpoint will be made again."""
        with reported(self.path):
            for file in self.files():
                if file.step > until:
                    file.path.unlink()

    def files(self) -> list[LookFile]:
        """In their order."""
        with readable(self.path):
            return sorted(self._files(), key=lambda file: file.number)

    def _files(self) -> Iterator[LookFile]:
        for path in self.path.glob("look-*-step-*.safetensors"):
            _, number, _, step = path.stem.split("-")
            if number.isdecimal() and step.isdecimal():
                yield LookFile(path, int(number), int(step))


def stride(count: int) -> int:
    """Of so many, every how many-th is kept; besides, the last is."""
    every = 1
    while -(-count // every) + 1 > MOST:
        every *= 2
    return every
