"""Checkpoints: all that an exact continuation needs, in a folder of its own for each saved step."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from seqloom.settings import UserError
from seqloom.store.atomic import new_folder, remove_folder, reported, write_tensors
from seqloom.store.digest import digest
from seqloom.store.weights import read_tensors


@dataclass(frozen=True)
class Checkpoint:
    """Groups of tensors (weights, the optimiser's, …) and numbers."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    numbers: Mapping[str, Any]


class Checkpoints:
    """state/step-00000123/: the newest whole one counts; older ones go when a newer one is on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        with reported(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / f"step-{step:08}"
        if place.exists():
            return  # the same run at the same step: the same bits
        with new_folder(place) as partial:
            # a digest takes longer than the file: all at once, in threads that touch no file
            with ThreadPoolExecutor() as pool:
                digests = list(pool.map(digest, checkpoint.tensors.values()))
            for (group, tensors), known in zip(checkpoint.tensors.items(), digests, strict=True):
                write_tensors(partial / f"{group}.safetensors", tensors, known)
            (partial / "state.json").write_text(json.dumps(checkpoint.numbers), encoding="utf-8")
        with reported(self.folder):
            for old in self._all():
                if old != place:
                    remove_folder(old)

    def any(self) -> bool:
        return bool(self._all())

    def newest(self) -> Checkpoint | None:
        numbers, found = self.numbers(), self._all()
        if numbers is None:
            return None
        return Checkpoint({file.stem: read_tensors(file) for file in found[-1].glob("*.safetensors")}, numbers)

    def numbers(self) -> dict[str, Any] | None:
        """Those of the newest, without its tensors."""
        found = self._all()
        return _numbers(found[-1] / "state.json") if found else None

    def _all(self) -> list[Path]:
        return sorted(place for place in self.folder.glob("step-*") if place.suffix == "")


def _numbers(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); --force starts the run anew") from None
