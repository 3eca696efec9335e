"""Steps that a GPU does by heart: its work is recorded once for each shape of batch, and played for the next ones.

A small kernel takes a GPU less time than it takes Python to ask for it. A recording (a CUDA graph) asks once for the
whole step: forward, backward, clipping, update. Nobody waits for its numbers, either: they are read some steps later.
A step that is nonsense therefore changes no weight, and none after it does, until it has been read.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.tasks import Batch, Frame
from seqloom.training.ema import MovingAverage
from seqloom.training.optimisers import Optimiser, clip
from seqloom.training.step import Work

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
        self.work, self.optimiser, self.ema, self.clip, self.budget, self.note = (
            work,
            optimiser,
            ema,
            clip,
            budget,
            note,
        )
        cuda = work.device.type == "cuda"
        self.records = cuda
        self._pads: bool | None = None  # whether the model ever fills rows up; not known before the first step
        self._tried: set[Frame] = set()  # frames that could not be recorded, at first
        self._large: set[Frame] = set()  # frames that need more memory than there is
        self._recordings: dict[Frame, _Recording] = {}
        self._knobs = Knobs(1.0).numbers.to(work.device)
        self._results = torch.zeros(2, device=work.device)
        self._bad = torch.zeros((), device=work.device)
        # one stream for all, as what is recorded must not depend on another
        self._stream = torch.cuda.Stream(work.device) if cuda else None
        self._pool = torch.cuda.graph_pool_handle() if cuda else None

    def step(self, number: int, batch: Batch, knobs: Knobs) -> Awaited | None:
        """One step of training, perhaps still on its way.

        None: nothing was done, as the batch has no frame, or needs more memory than there is.
        """
        frame = Frame.around(batch, self.budget, loose=self._pads is False)
        if frame is None or frame in self._large:
            return None
        if frame.asked and self.work.goals.r_drop:  # which does not know goals that count nothing
            return None
        with torch.cuda.stream(self._stream):
            if self._stream is not None:
                self._stream.wait_stream(torch.cuda.default_stream(self.work.device))
            self._knobs.copy_(self._pinned(knobs.numbers), non_blocking=True)
            recording = self._recording(frame, batch)
            self.work.seed_chance(number)
            if recording is None:
                if not self._worked(frame, batch):
                    return None
            else:
                recording.numbers.copy_(self._written(frame, batch), non_blocking=True)
                recording.graph.replay()
            return Awaited(self._results)

    def _worked(self, frame: Frame, batch: Batch) -> bool:
        """As it is, unrecorded. False: out of memory, before any weight was changed."""
        try:
            self._whole(frame, batch, self._there(frame, batch))
        except torch.OutOfMemoryError:
            self._large.add(frame)
        else:
            return True
        # only here: while the error is at hand, it holds what the failed step had made
        self.work.model.zero_grad(set_to_none=True)
        return False

    def _recording(self, frame: Frame, batch: Batch) -> _Recording | None:
        if not self.records or frame in self._recordings:
            return self._recordings.get(frame)
        # what is done for the first time cannot be recorded: kernels are made then
        if self._pads is None or len(self._recordings) >= MOST:
            return None
        try:
            self._recordings[frame] = self._record(frame, batch)
        except torch.OutOfMemoryError:
            self._stop("the memory does not suffice for it")
        except RuntimeError as error:
            if frame in self._tried:
                self._stop(str(error).strip().splitlines()[0])
            self._tried.add(frame)
        return self._recordings.get(frame)

    def _stop(self, why: str) -> None:
        self.records = False
        self._recordings.clear()
        torch.cuda.synchronize(self.work.device)
        self.note(f"steps are not recorded ({why}): training is slower than it could be, and right")

    def _record(self, frame: Frame, batch: Batch) -> _Recording:
        numbers = self._there(frame, batch)
        graph = torch.cuda.CUDAGraph()
        # other threads may go on meanwhile: they make batches ready
        graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
        try:
            self._whole(frame, batch, numbers)
        finally:
            graph.capture_end()
            self.work.model.zero_grad(set_to_none=True)
        return _Recording(graph, numbers)

    def _whole(self, frame: Frame, batch: Batch, numbers: Tensor) -> None:
        """The step itself: all that it reads is on the device, and all that it tells stays there."""
        work, model = self.work, self.work.model
        factor, limit, pull = self._knobs.unbind()
        model.zero_grad(set_to_none=True)
        framed = frame.read(batch, numbers)
        with work.autocast():
            loss = work.task.loss(model, framed, work.goals)
        loss = loss / framed.counted
        loss.backward()
        norm = clip(model, self.clip)
        loss = loss.detach()
        fine = loss.isfinite() & norm.isfinite() & (loss <= limit)
        self._bad.copy_(torch.where(fine, self._bad, 1.0))
        self.optimiser.step(factor, self._bad)
        if self.ema is not None:
            self.ema.pull(model, pull)
        self._results.copy_(torch.stack((loss, norm.to(loss.dtype))))
        sides = [side for side in (framed.source, framed.target) if side is not None]
        self._pads = any(side.layout.padded for side in sides)

    def _there(self, frame: Frame, batch: Batch) -> Tensor:
        return self._written(frame, batch).to(self.work.device, non_blocking=True)

    def _written(self, frame: Frame, batch: Batch) -> Tensor:
        numbers = torch.empty(frame.size, dtype=torch.int64, pin_memory=self.work.device.type == "cuda")
        frame.write(batch, numbers)
        return numbers

    def _pinned(self, x: Tensor) -> Tensor:
        return x.pin_memory() if self.work.device.type == "cuda" else x
