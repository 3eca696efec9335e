"""What a run leaves, and where."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqloom.settings import UserError
from seqloom.store.atomic import PARTIAL, add_text, readable, reported, to_disk, write_text
from seqloom.store.looks import LooksFolder
from seqloom.store.state import Checkpoint, Checkpoints

NO_LOCKS = "this file system has no locks, so that two processes could write there at once"


class RunFolder:
    """runs/NAME/: every path in it has its name here alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe = path / "recipe.toml"
        self.request = path / "request.json"
        self.model = path / "model.safetensors"
        self.vocabulary = path / "vocabulary"
        self.metrics = path / "metrics.jsonl"
        self.curves = path / "curves.svg"
        self.card = path / "card.md"
        self.forecast = path / "forecast.svg"
        self.state = path / "state"
        self.kept = path / "state" / "kept"
        self.lock = path / ".lock"
        self.checkpoints = Checkpoints(self.state)
        self.looks = LooksFolder(path / "looks")

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def exists(self) -> bool:
        return self.request.exists()

    def create(self) -> None:
        """An empty folder, or a UserError that says why not: never over what is not a run."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / ".probe"
            probe.touch()
            probe.unlink()
        except FileExistsError:
            raise UserError(f"{self.path}: is a file; --out names a folder") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written: {error.strerror}; choose another --out") from None
        if not self.exists() and any(self._strangers()):
            names = ", ".join(sorted(file.name for file in self._strangers())[:3])
            raise UserError(f"{self.path}: holds other things than a run ({names}); choose another --out")

    def _files(self) -> list[Path]:
        return [self.recipe, self.request, self.model, self.metrics, self.curves, self.card, self.forecast]

    def _partials(self) -> list[Path]:
        return [file.with_name(file.name + PARTIAL) for file in self._files()]

    def _strangers(self) -> Iterator[Path]:
        """What no run wrote; one that was killed early may have left its lock and some of its first files."""
        mine = {self.lock, self.vocabulary, self.recipe, *self._partials()} if self.lock.exists() else set()
        return (file for file in self.path.iterdir() if file not in mine)

    def clear(self) -> None:
        """For --force: all that a run writes; what else lies there stays."""
        with reported(self.path):
            for folder in (self.state, self.vocabulary, self.looks.path):
                if folder.exists():
                    shutil.rmtree(folder)
            for file in [*self._files(), *self._partials(), *self.path.glob("events.out.tfevents.*")]:
                file.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time writes a run."""
        with self.lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"{self.path}: another process is training there; wait for it, or stop it") from None
            except OSError as error:
                raise UserError(f"{self.path}: {NO_LOCKS} ({error.strerror}); choose another --out") from None
            try:
                yield
            finally:
                if list(self.path.iterdir()) == [self.lock]:  # nothing came of it: no empty folder is left behind
                    self.lock.unlink()
                    self.path.rmdir()

    def busy(self) -> bool:
        """Whether a process trains there at the moment."""
        try:
            with self.lock.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no lock, or none that may be looked at
            return False
        return False

    def read_metrics(self) -> list[dict[str, Any]]:
        if not self.metrics.exists():
            return []
        with readable(self.metrics):
            lines = self.metrics.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        # a line cut off by a kill does not count
        return [self._metrics_line(*each) for each in enumerate(lines, 1) if each[1].endswith("\n")]

    def _metrics_line(self, number: int, text: str) -> dict[str, Any]:
        try:
            line = json.loads(text)
            int(line["step"])
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{self.metrics}:{number}: not a line of metrics; remove it") from None
        return dict(line)

    def keep_metrics(self, until: int) -> list[dict[str, Any]]:
        """Those up to a step; what a killed run wrote behind its last checkpoint will be written again."""
        kept = [line for line in self.read_metrics() if line["step"] <= until]
        write_text(self.metrics, "".join(json.dumps(line) + "\n" for line in kept))
        return kept

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """A checkpoint, behind the metrics that belong to it."""
        if self.metrics.exists():
            with reported(self.metrics):
                to_disk(self.metrics)
        self.checkpoints.save(step, checkpoint)

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        add_text(self.metrics, json.dumps(line) + "\n")
