"""How a training went, or goes: its curves, and the attention of its sentence. Read from the run folder alone."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from seqloom.jobs.looking.documents import matrix_json
from seqloom.settings import UserError
from seqloom.store import RunFolder

POINTS = 2000
"""Of a curve, at most: more would not be seen. A longer one is thinned; its last point stays."""
CHUNK = 1 << 22  # bytes of metrics that are read at once


@dataclass
class Curve:
    """Every so many-th point, and the last."""

    points: list[list[float]] = field(default_factory=list)
    every: int = 1
    count: int = 0
    last: list[float] | None = None

    def add(self, step: int, value: float) -> None:
        self.last = [step, value]
        if self.count % self.every == 0:
            self.points.append(self.last)
        self.count += 1
        if len(self.points) >= POINTS:
            self.points, self.every = self.points[::2], 2 * self.every

    def shown(self) -> list[list[float]]:
        ends = self.last is not None and (not self.points or self.points[-1] is not self.last)
        return [*self.points, self.last] if ends and self.last is not None else self.points


class Progress:
    """Reads on where it stopped, as a run's metrics grow to millions of lines. One thread at a time."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self._begin()

    def _begin(self) -> None:
        self._curves: dict[str, Curve] = {}
        self._read, self._node = 0, 0

    def document(self) -> dict[str, Any]:
        """A UserError: there is no run."""
        running = self.run.busy()  # first: what a run that ends meanwhile leaves is read then
        if not running and not self.run.recipe.exists() and not self.run.metrics.exists():
            raise UserError("there is no training to be seen: the run has no metrics")
        self._go_on()
        about = self.run.looks.read_about()
        sentence = {"source": about.get("columns", []), "target": about.get("rows", [])}
        return {
            "running": running,
            "metrics": {name: curve.shown() for name, curve in self._curves.items()},
            "sentence": sentence | {"texts": about.get("sentence")},
            "layer": about.get("layer"),
            "rows": about.get("rows"),
            "columns": about.get("columns"),
            "looks": list(self._looks()),
        }

    def _looks(self) -> Iterator[dict[str, Any]]:
        for file in self.run.looks.files():
            try:
                weights_HTS = file.read()
            except (UserError, KeyError):  # thinned out meanwhile
                continue
            yield {"step": file.step, "weights": matrix_json(weights_HTS)}

    def _go_on(self) -> None:
        try:
            found = self.run.metrics.stat()
        except OSError:
            self._begin()
            return
        if found.st_ino != self._node or found.st_size < self._read:  # a run that goes on writes it anew
            self._begin()
            self._node = found.st_ino
        with self.run.metrics.open("rb") as file:
            file.seek(self._read)
            while block := file.read(CHUNK):
                whole = block[: block.rfind(b"\n") + 1]  # the last line may not be all there yet
                if not whole:
                    break
                self._add(whole.decode("utf-8", errors="replace").splitlines())
                self._read += len(whole)
                file.seek(self._read)

    def _add(self, lines: Sequence[str]) -> None:
        for line in lines:
            try:
                numbers = json.loads(line)
                step = int(numbers.pop("step"))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # `seqloom train` itself refuses to go on from it, and says where
            for name, value in numbers.items():
                if isinstance(value, int | float):
                    self._curves.setdefault(name.replace(".", "_"), Curve()).add(step, value)


def examples(run: RunFolder) -> list[Any]:
    """Inputs to try, which the training kept."""
    found = run.looks.read_about().get("examples", [])
    return found if isinstance(found, list) else []
