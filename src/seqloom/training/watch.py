"""What people see while a model trains: a live panel in a terminal, whole lines elsewhere. All of it on stderr.

Nothing here touches a tensor: to read one would make the device wait.
"""

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Protocol, Self, TextIO

from seqloom.settings.words import counted
from seqloom.training.figures import count, duration, figure, memory, share

View = Literal["auto", "panel", "lines", "none"]

_SMOOTHING = 0.95
_WINDOW = 10.0  # seconds over which the speed is taken
_KNOWN = 1.0  # seconds behind the first step, which is slow, after which the time left is known
SPARKS = 20


@dataclass(frozen=True)
class Facts:
    """What is known as training begins."""

    name: str
    steps: int | None = None
    """All steps of the run; None if they are not known, as when the time is what is given."""
    after: int = 0
    """The steps that are behind a run that goes on."""
    done: float = 0.0
    """The share of the run that is behind it."""
    about: Sequence[str] = ()
    """Lines to say first: the model, the data, the machine."""
    best: str = ""
    """The score that decides which model is the best."""
    main: str = ""
    """The score that is shown beside the loss."""
    found: tuple[int, Mapping[str, float]] | None = None
    """The step of the best model so far, where a run goes on, and its scores; among them `loss`."""
    full: float | None = None
    """Tokens a second at the peak of the machine."""
    over: str = ""
    """What to say of a run that was done before, so that no step is made."""


class History:
    """A few dozen values that tell all of a run: when there are too many, every other is dropped."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._every = 1
        self._since = 0

    def add(self, value: float) -> None:
        self._since += 1
        if self._since < self._every:
            return
        self._since = 0
        self.values.append(value)
        if len(self.values) == 2 * SPARKS:
            self.values = self.values[1::2]
            self._every *= 2


@dataclass
class Seen:
    """All that is shown, as it is now."""

    facts: Facts
    began: float
    step: int = 0
    done: float | None = None
    loss: float = math.nan
    reward: float | None = None
    losses: History = field(default_factory=History)
    speed: float | None = None
    left: float | None = None
    peak_share: float | None = None
    memory: float | None = None
    valid_loss: float | None = None
    score: float | None = None
    score_name: str = "score"
    chooser: float | None = None
    """The score that decides which model is the best, where it is another."""
    best: tuple[int, str] | None = None
    """The best validation's step, and its scores, or its loss where there is none."""

    @property
    def where(self) -> str:
        of = f" of {self.facts.steps}" if self.facts.steps else ""
        return f"step {self.step}{of}"


class Display(Protocol):
    def began(self, seen: Seen) -> None: ...
    def stepped(self, seen: Seen, now: float) -> None: ...
    def validated(self, seen: Seen, now: float) -> None: ...
    def note(self, text: str) -> None: ...
    def ended(self, seen: Seen, text: str) -> None: ...
    def close(self) -> None: ...


class Watcher:
    """Told of each step and each validation, in plain numbers; shows them as often as is useful.

    `with Watcher() as watcher:` leaves the terminal as it was, also after an error or Ctrl-C.
    """

    def __init__(
        self, view: View = "auto", stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._display = _display(view, sys.stderr if stream is None else stream)
        self._seen = Seen(Facts(""), clock())
        self._weight = 0.0
        self._tokens = 0
        self._marks: deque[tuple[float, int]] = deque()
        self._first: tuple[float, float] | None = None  # when the first step was over, and the share that was done
        self._since, self._skips = (
            0,
            False,
        )  # steps since a validation; whether the first is left out, as there are others

    def began(self, facts: Facts) -> None:
        self._seen = Seen(facts, self._clock(), facts.after, facts.done or None)
        if facts.found is not None:
            step, scores = facts.found
            self._seen.best = step, _found_words(facts, scores)
        self._weight, self._first = 0.0, None
        self._marks = deque([(self._seen.began, self._tokens)])
        self._display.began(self._seen)

    def step(
        self,
        step: int,
        loss: float,
        tokens: int,
        done: float | None = None,
        memory: float | None = None,
        reward: float | None = None,
    ) -> None:
        """A step is over. tokens: of this step; done: the share of the run, unless the steps tell; memory: bytes.

        reward: the mean of what was drawn in it.
        """
        seen, now = self._seen, self._clock()
        seen.step = step
        seen.done = step / seen.facts.steps if done is None and seen.facts.steps else done
        seen.memory = seen.memory if memory is None else memory
        self._smooth(loss)
        if reward is not None:
            before = reward if seen.reward is None else seen.reward
            seen.reward = reward + _SMOOTHING * (before - reward)
        self._time(now, tokens)
        self._display.stepped(seen, now)

    def validated(
        self,
        step: int,
        loss: float,
        score: float | None = None,
        score_name: str = "score",
        best: bool = False,
        chooser: float | None = None,
    ) -> None:
        """best: it is the best so far. chooser: the score that decides this, where it is not shown already."""
        seen = self._seen
        seen.step, seen.valid_loss, seen.score, seen.score_name, seen.chooser = step, loss, score, score_name, chooser
        if best:
            seen.best = step, ", ".join(_score_words(seen) or [_loss_word(loss)])
        now = self._clock()
        # the time of a validation is not the time of steps, nor is that of what is saved behind it
        self._marks = deque([(now, self._tokens)])
        self._skips, self._since = self._since > 1, 0
        self._display.validated(seen, now)

    def note(self, text: str) -> None:
        """Something worth saying, above the panel or as a line."""
        self._display.note(text)

    def ended(self, text: str = "") -> None:
        """text: why, if not because all was done."""
        self._display.ended(self._seen, _closing(self._seen, self._clock(), text))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()

    def _smooth(self, loss: float) -> None:
        seen = self._seen
        if not math.isfinite(loss) or not math.isfinite(seen.loss):
            seen.loss, self._weight = loss, 1.0 if math.isfinite(loss) else 0.0
        else:
            self._weight = _SMOOTHING * self._weight + 1
            seen.loss += (loss - seen.loss) / self._weight
        seen.losses.add(seen.loss)

    def _time(self, now: float, tokens: int) -> None:
        seen, marks = self._seen, self._marks
        self._tokens += tokens
        self._since += 1
        if self._skips and self._since == 1:
            marks.clear()
        marks.append((now, self._tokens))
        while len(marks) > 2 and now - marks[0][0] > _WINDOW:
            marks.popleft()
        since, before = marks[0]
        if now > since:
            seen.speed = (self._tokens - before) / (now - since)
            # what a run reaches is a peak too: that of the machine may have been measured while others used it
            seen.peak_share = seen.speed / max(seen.speed, seen.facts.full) if seen.facts.full else None
        seen.left = None if seen.done is None else self._left(now, seen.done)

    def _left(self, now: float, done: float) -> float | None:
        """From the first step on: what was before it took its own time, and may have been counted as done."""
        if self._first is None or done < self._first[1]:
            self._first = now, done
        since, before = self._first
        known = now - since >= _KNOWN and done > before
        return (now - since) * (1 - done) / (done - before) if known else None


def _display(view: View, stream: TextIO) -> Display:
    if view == "auto":
        view = "panel" if stream.isatty() and os.environ.get("TERM") != "dumb" else "lines"
    if view == "panel":
        from seqloom.training.panel import Panel  # rich takes a while to import, and only a terminal needs it

        return Panel(stream)
    return Lines(stream) if view == "lines" else Nothing()


def speed_words(seen: Seen) -> list[str]:
    words = [] if seen.speed is None else [f"{count(seen.speed)} tokens/s"]
    words += [] if seen.peak_share is None else [f"{share(seen.peak_share)} of peak"]
    return words + ([] if seen.memory is None else [memory(seen.memory)])


def loss_words(seen: Seen) -> list[str]:
    return [f"loss {figure(seen.loss)}", *([] if seen.reward is None else [f"reward {figure(seen.reward)}"])]


def _score_words(seen: Seen) -> list[str]:
    each = (seen.score_name, seen.score), (seen.facts.best, seen.chooser)
    return [f"{name} {figure(score)}" for name, score in each if score is not None]


def _loss_word(loss: float) -> str:
    return f"valid loss {figure(loss)}"


def _found_words(facts: Facts, scores: Mapping[str, float]) -> str:
    """As it was said when it was found."""
    names = dict.fromkeys((facts.main, facts.best))
    words = [f"{name} {figure(scores[name])}" for name in names if name != "loss" and name in scores]
    return ", ".join(words or [_loss_word(scores["loss"])])


def valid_words(seen: Seen) -> list[str]:
    words = [] if seen.valid_loss is None else [_loss_word(seen.valid_loss)]
    words += _score_words(seen)
    if seen.best and words:
        step, _ = seen.best
        by = f" by {seen.facts.best}" if seen.facts.best else ""
        words.append(f"best so far{by}" if step == seen.step else f"best{by} at step {step}")
    return words


def _closing(seen: Seen, now: float, text: str) -> str:
    words = [] if seen.facts.over else [f"ended at {seen.where}", duration(now - seen.began)]
    if seen.best:
        by = f" by {seen.facts.best}" if seen.facts.best else ""
        words.append(f"best{by} at step {seen.best[0]}: {seen.best[1]}")
    return "   ".join([*words, *([text] if text and not seen.facts.over else [])])


class Lines:
    """Whole lines: the steps about every ten seconds, later every thirty; each validation, where they do not come thick
    and fast. A line that was left out is counted in the next one, which names the best of all; the last one is kept.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._latest = self._validated = -math.inf
        self._held, self._left_out = "", 0  # the line of the latest validation, if it waits; how many are behind it

    def began(self, seen: Seen) -> None:
        self._latest = self._validated = -math.inf
        goes_on = f"goes on after step {seen.facts.after}" if seen.facts.after else ""
        for line in [*seen.facts.about, *filter(None, [seen.facts.over or goes_on])]:
            self.note(line)

    def stepped(self, seen: Seen, now: float) -> None:
        self._show_in_time(seen, now)  # no other validation came soon
        pause = 10 if now - seen.began < 300 else 30
        if now - self._latest < pause:
            return
        self._latest = now
        words = [seen.where, *([] if seen.done is None else [share(seen.done)]), *loss_words(seen)]
        words += speed_words(seen)
        words += [] if seen.left is None else [f"{duration(seen.left)} left"]
        self.note("   ".join(words))

    def validated(self, seen: Seen, now: float) -> None:
        done = [] if seen.done is None else [share(seen.done)]
        self._left_out += bool(self._held)
        self._held = "   ".join([seen.where, *done, *valid_words(seen)])
        self._show_in_time(seen, now)

    def _show_in_time(self, seen: Seen, now: float) -> None:
        if self._held and now - self._validated >= (2 if now - seen.began < 300 else 10):
            self._validated = now
            self._show()

    def _show(self) -> None:
        """The validation that waits."""
        if self._held:
            more = f"   {counted(self._left_out, 'validation')} before it not shown" if self._left_out else ""
            self.note(self._held + more)
        self._held, self._left_out = "", 0

    def note(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def ended(self, seen: Seen, text: str) -> None:
        self._show()
        self.note(text)

    def close(self) -> None:
        self._show()


class Nothing:
    """For a caller who wants to hear nothing."""

    def began(self, seen: Seen) -> None: ...
    def stepped(self, seen: Seen, now: float) -> None: ...
    def validated(self, seen: Seen, now: float) -> None: ...
    def note(self, text: str) -> None: ...
    def ended(self, seen: Seen, text: str) -> None: ...
    def close(self) -> None: ...
