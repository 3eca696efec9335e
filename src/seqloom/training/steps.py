"""Steps of a run: done and told at once, or, on a GPU, sent ahead and told when they are done."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seqloom.tasks import Batch
from seqloom.training.ema import MovingAverage
from seqloom.training.optimisers import Optimiser, clip
from seqloom.training.recorder import Awaited, Knobs, Recorder
from seqloom.training.step import Work

AHEAD = 4  # steps that a GPU may have before it is known what came of them


@dataclass(frozen=True)
class Begun:
    """A step that is asked for. limit: a loss above it is a jump."""

    number: int
    factor: float
    limit: float
    tokens: int
    batches: list[Batch]


Refuse = Callable[[Begun, float, float], None]
"""Hears of a step's loss and gradient before it changes any weight, and ends the run if they are nonsense."""
Tell = Callable[[Begun, float, float, Mapping[str, float]], None]
"""Hears the same of a step that is done, and what else its objective tells."""


class Steps:
    """Gradients, clipping, update and average; in order, each told once."""

    def __init__(
        self,
        work: Work,
        optimiser: Optimiser,
        ema: MovingAverage | None,
        clip: float | None,
        recorder: Recorder | None,
        refuse: Refuse,
        tell: Tell,
    ) -> None:
        self.work, self.optimiser, self.ema, self.clip, self.recorder = work, optimiser, ema, clip, recorder
        self.refuse, self.tell = refuse, tell
        self._waiting: deque[tuple[Begun, Awaited]] = deque()

    def take(self, step: Begun) -> float:
        """One step; on a GPU it may still be on its way afterwards, and `settle` hears of it.

        Seconds of it that no other step like it will need.
        """
        began = time.monotonic()
        if not self._sent(step):
            self.settle()
            self._made(step)
        self.settle(AHEAD)
        return time.monotonic() - began if self.recorder is not None and self.recorder.prepares else 0.0

    def settle(self, ahead: int = 0) -> None:
        """Hear of all steps that are on their way, but for the latest few."""
        while len(self._waiting) > ahead:
            step, awaited = self._waiting.popleft()
            loss, norm = awaited.read()
            self.refuse(step, loss, norm)
            self.tell(step, loss, norm, {})

    def _sent(self, step: Begun) -> bool:
        """Whether the device has it: a recorder does one batch a step, and not all kinds of them."""
        if self.recorder is None or len(step.batches) > 1:
            return False
        pull = 0.0 if self.ema is None else 1 - self.ema.decay
        awaited = self.recorder.step(step.number, step.batches[0], Knobs(step.factor, step.limit, pull))
        if awaited is None:
            return False
        if self.ema is not None:
            self.ema.steps += 1
        self._waiting.append((step, awaited))
        return True

    def _made(self, step: Begun) -> None:
        made = self.work.make(step.number, step.batches)
        loss, norm = made.loss.item(), clip(self.work.model, self.clip).item()
        self.refuse(step, loss, norm)
        self.optimiser.step(step.factor)
        if self.ema is not None:
            self.ema.update(self.work.model)
        self.tell(step, loss, norm, made.figures)
