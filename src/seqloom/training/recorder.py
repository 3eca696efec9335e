"""Steps that a GPU does by heart: its work is recorded once for each shape of batch, and played for the next ones.

A small kernel takes a GPU less time than it takes Python to ask for it. A recording (a CUDA graph) asks once for the
whole step: forward, backward, clipping, update. Nobody waits for its numbers, either: they are read some steps later.
A step that is nonsense therefore changes no weight, and none after it does, until it has been read.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.layers.chain import Chain
from seqloom.layers.halves import Halves
from seqloom.layers.kernels import has_triton
from seqloom.layers.mixer import Mixer
from seqloom.layers.recording import NotRecordedError, Tape
from seqloom.tasks import Batch, Frame
from seqloom.training.ema import MovingAverage
from seqloom.training.optimisers import Optimiser, clip
from seqloom.training.step import Work

LONGEST = 1024  # steps of a row that are gone one by one: more would be too long a recording
MOST = 96  # recordings; frames beyond that are worked through each time


@dataclass(frozen=True)
class Knobs:
    """What differs from step to step. limit: a loss above it is a jump. pull: of the moving average to the weights."""

    factor: float
    limit: float = math.inf
    pull: float = 0.0

    @property
    def numbers(self) -> Tensor:
        return torch.tensor([self.factor, self.limit, self.pull])


class Awaited:
    """The numbers of a step that the device may not have done yet."""

    def __init__(self, results: Tensor) -> None:
        self._here = torch.empty_like(results, device="cpu", pin_memory=results.is_cuda)
        self._here.copy_(results, non_blocking=True)
        self._event = torch.cuda.Event() if results.is_cuda else None
        if self._event is not None:
            self._event.record()

    def read(self) -> tuple[float, float]:
        """The mean loss and the gradient's norm. Waits for them."""
        if self._event is not None:
            self._event.synchronize()
        loss, norm = self._here.tolist()
        return loss, norm


@dataclass
class _Recording:
    graph: torch.cuda.CUDAGraph
    numbers: Tensor


class Recorder:
    """All of a step. note: hears why nothing can be recorded, if so."""

    def __init__(
        self,
        work: Work,
        optimiser: Optimiser,
        ema: MovingAverage | None,
        clip: float | None,
        budget: int,
        note: Callable[[str], None],
    ) -> None:
        self.work, self.optimiser, self.ema, self.clip = work, optimiser, ema, clip
        self.budget, self.note = budget, note
        # one stream for all, as what is recorded must not depend on another
        self._tape = Tape(work.device)
        self.records = self._tape.records
        self._stopped = False
        self.prepares = False  # whether the latest step takes longer than those like it will
        self._stepwise = any(isinstance(part, Mixer | Chain) and part.stepwise for part in work.model.modules())
        self._halves = None if work.precision is None or not has_triton() else Halves(work.model, work.precision)
        self._pads: bool | None = None  # whether the model ever fills rows up; not known before the first step
        self._seen: set[Frame] = set()
        self._large: set[Frame] = set()  # frames that need more memory than there is
        self._recordings: dict[Frame, _Recording] = {}
        self._mended = Tape.mended
        self._knobs = Knobs(1.0).numbers.to(work.device)
        self._results = torch.zeros(2, device=work.device)
        self._bad = torch.zeros((), device=work.device)

    def step(self, number: int, batch: Batch, knobs: Knobs) -> Awaited | None:
        """One step of training, perhaps still on its way.

        None: nothing was done. The batch has no frame, or is the first in it, or needs more memory than there is.
        """
        frame = Frame.around(batch, self.budget, loose=self._pads is False)
        self.prepares = False
        if frame is None or not self._takes(frame):
            return None
        stream = self._tape.stream
        with torch.cuda.stream(stream):
            if stream is not None:
                stream.wait_stream(torch.cuda.default_stream(self.work.device))
            self._knobs.copy_(self._pinned(knobs.numbers), non_blocking=True)
            if self.records and self._pads is not None:
                recording = self._recording(frame, batch)
                if recording is None:
                    return None
                self.work.seed_chance(number)
                recording.numbers.copy_(self._written(frame, batch), non_blocking=True)
                recording.graph.replay()
            else:
                self.work.seed_chance(number)
                if not self._worked(frame, batch):
                    return None
            return Awaited(self._results)

    def _takes(self, frame: Frame) -> bool:
        """Whether a batch in this frame is for the recorder. What comes once is not worth a recording."""
        if self._stopped or frame in self._large:
            return False
        if frame.asked and self.work.goals.r_drop:  # which does not know goals that count nothing
            return False
        if self._stepwise and any(room.longest > LONGEST for room in (frame.source, frame.target) if room is not None):
            return False
        first = frame not in self._seen
        self._seen.add(frame)
        self.prepares = self.records and frame not in self._recordings and (first or len(self._recordings) < MOST)
        if not self.records or self._pads is None or frame in self._recordings:
            return True
        return not first and len(self._recordings) < MOST

    def _worked(self, frame: Frame, batch: Batch) -> bool:
        """As it is, unrecorded. False: out of memory, before any weight was changed."""
        try:
            told = self._gradients(frame, batch, self._there(frame, batch))
        except torch.OutOfMemoryError:
            self._large.add(frame)
        else:
            self._update(*told)
            return True
        # only here: while the error is at hand, it holds what the failed step had made
        self.work.model.zero_grad(set_to_none=True)
        return False

    def _recording(self, frame: Frame, batch: Batch) -> _Recording | None:
        """None: it cannot be recorded."""
        if self._mended != Tape.mended:  # a validation's recording broke off
            self._mended = Tape.mended
            self._recordings.clear()
        if frame in self._recordings:
            return self._recordings[frame]
        try:
            self._recordings[frame] = self._record(frame, batch)
        except torch.OutOfMemoryError:
            self._large.add(frame)
        except NotRecordedError as error:
            self._stop(str(error))  # once, and for all
        return self._recordings.get(frame)

    def _stop(self, why: str) -> None:
        self._stopped = True
        self._halves = None
        self._recordings.clear()
        torch.cuda.synchronize(self.work.device)
        self.note(f"steps are not recorded ({why}): training is slower than it could be, and right")

    def _record(self, frame: Frame, batch: Batch) -> _Recording:
        numbers = self._there(frame, batch)
        try:
            graph = self._tape.record(lambda: self._update(*self._gradients(frame, batch, numbers)))
        finally:
            self.work.model.zero_grad(set_to_none=True)
        return _Recording(graph, numbers)

    # The step itself, in two halves: all that they read is on the device, and all that they tell stays there.

    def _gradients(self, frame: Frame, batch: Batch, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss, and the norm of its gradients before they were clipped."""
        work, model = self.work, self.work.model
        model.zero_grad(set_to_none=True)
        framed = frame.read(batch, numbers)
        with nullcontext() if self._halves is None else self._halves.at_hand(), work.autocast():
            loss = work.task.loss(model, framed, work.goals)
        assert isinstance(framed.counted, Tensor)
        loss = loss / framed.counted.clamp(min=1)
        loss.backward()
        norm = clip(model, self.clip)
        sides = [side for side in (framed.source, framed.target) if side is not None]
        self._pads = any(side.layout.padded for side in sides)
        return loss.detach(), norm

    def _update(self, loss: Tensor, norm: Tensor) -> None:
        factor, limit, pull = self._knobs.unbind()
        fine = loss.isfinite() & norm.isfinite() & (loss <= limit)
        self._bad.copy_(torch.where(fine, self._bad, 1.0))
        self.optimiser.step(factor, self._bad)
        if self.ema is not None:
            self.ema.pull(self.work.model, pull)
        self._results.copy_(torch.stack((loss, norm.to(loss.dtype))))

    def _there(self, frame: Frame, batch: Batch) -> Tensor:
        return self._written(frame, batch).to(self.work.device, non_blocking=True)

    def _written(self, frame: Frame, batch: Batch) -> Tensor:
        numbers = torch.empty(frame.size, dtype=torch.int64, pin_memory=self.work.device.type == "cuda")
        frame.write(batch, numbers)
        return numbers

    def _pinned(self, x: Tensor) -> Tensor:
        return x.pin_memory() if self.work.device.type == "cuda" else x
