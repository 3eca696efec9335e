"""What a run tells of itself: to the person who watches, to TensorBoard, as curves."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.training.curves import curves_svg
from seqloom.training.events import EventWriter
from seqloom.training.loop import LESS_IS_BETTER
from seqloom.training.watch import Facts, View, Watcher

DRAWN_EVERY = 20.0  # seconds between two pictures
MOST_LINES = 20_000  # that are kept for the picture: more would not be seen, and a long run must not fill the memory


class Telling:
    """A `Teller`; also a context that closes what it opened."""

    def __init__(self, run: RunFolder, main: str, view: View = "auto") -> None:
        """main: the score that is shown beside the loss."""
        self.run, self.main, self.best = run, main, "loss"
        self.watcher = Watcher(view)
        self.events: EventWriter | None = None
        self.read = 1.0
        self.lines: list[dict[str, Any]] = []
        self.drawn = self.last = 0.0
        self.behind = False  # whether the next step is the first one behind a validation

    def begin(self, facts: Facts, flops_per_token: float, peak: float, read: float = 1.0) -> None:
        """read: tokens, as the budget of a batch counts them, for each that counts: a class is one of a whole text."""
        self.lines = self.run.read_metrics()
        while len(self.lines) > MOST_LINES:
            self.lines = thinned(self.lines)
        self.read = read
        self.events = EventWriter(self.run.path, after=facts.after if facts.after else None)
        self.last, self.best = time.monotonic(), facts.best
        full = peak / flops_per_token * read if peak and flops_per_token else None
        self.watcher.began(replace(facts, full=full, main=self.main))

    def note(self, text: str) -> None:
        self.watcher.note(text)

    def step(self, metrics: Mapping[str, float], tokens: int, done: float) -> None:
        now = time.monotonic()
        speed, self.last = tokens / max(now - self.last, 1e-9), now
        read, reward = round(tokens * self.read), metrics.get("reward")
        self.watcher.step(int(metrics["step"]), metrics["loss"], read, done, reward=reward)
        self._add(metrics, {} if self.behind else {"speed/tokens per second": speed * self.read})
        self.behind = False

    def validated(self, metrics: Mapping[str, float], better: bool) -> None:
        score = metrics.get(f"valid.{self.main}") if self.main != "loss" else None
        chooser = metrics.get(f"valid.{self.best}") if self.best not in ("loss", self.main) else None
        self.watcher.validated(int(metrics["step"]), metrics["valid.loss"], score, self.main, better, chooser)
        self._add(metrics, {})
        self._record(EventWriter.flush)
        if time.monotonic() - self.drawn > DRAWN_EVERY:
            self.draw()
        self.behind = True  # a checkpoint is saved now, whose time is not the step's

    def _add(self, metrics: Mapping[str, float], more: Mapping[str, float]) -> None:
        self.lines.append(dict(metrics))
        if len(self.lines) > MOST_LINES:
            self.lines = thinned(self.lines)
        values = {_tag(name): value for name, value in metrics.items() if name != "step"}
        self._record(lambda events: events.scalars(int(metrics["step"]), {**values, **more}))

    def _record(self, write: Callable[[EventWriter], None]) -> None:
        """What TensorBoard is told is not worth a run: where it cannot be written, that is said once."""
        if self.events is None:
            return
        try:
            write(self.events)
        except OSError as error:
            self.events = None
            self.note(f"{self.run.path}: no more events for TensorBoard: {error.strerror}")

    def draw(self) -> None:
        write_text(
            self.run.curves,
            curves_svg(
                self.lines, self.run.path.name, valid="valid.loss", scores=_scores(self.lines), falling=_FALLING
            ),
        )
        self.drawn = time.monotonic()

    def __enter__(self) -> Self:
        self.watcher.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.events is not None:
            with suppress(OSError):
                self.events.close()
        self.watcher.__exit__(kind, error, at)


def thinned(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every second one, from the first; of validations too, where they are many."""
    steps = [line for line in lines if "loss" in line]
    validations = [line for line in lines if "loss" not in line]
    few = validations if len(validations) < len(lines) / 4 else validations[::2]
    return sorted([*steps[::2], *few], key=lambda line: int(line["step"]))


_FALLING = tuple(f"valid.{name}" for name in LESS_IS_BETTER)


def _scores(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for line in lines[-200:] for name in line if name.startswith("valid."))
    return [name for name in names if name != "valid.loss"]


def _tag(name: str) -> str:
    """TensorBoard puts what begins alike side by side."""
    return f"valid/{name.removeprefix('valid.')}" if name.startswith("valid.") else f"train/{name}"
