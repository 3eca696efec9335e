"""One step: gradients of some batches, however large, and the update."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.ragged import Longs
from seqloom.models.build import Model
from seqloom.settings import FailedError
from seqloom.tasks import Batch, Goals, Task
from seqloom.tasks.carried import Carried
from seqloom.training.objective import Likelihood, Objective

Note = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    """What a step's gradients are of. figures: means of what else the objective tells, by name."""

    loss: Tensor
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Work:
    """The gradients of one step. objective: what they lower; None: the task's own loss."""

    task: Task
    model: Model
    goals: Goals
    device: torch.device
    precision: torch.dtype | None
    seed: int
    note: Note
    objective: Objective | None = None
    carried: Carried = field(default_factory=Carried)

    def gradients(self, step: int, batches: Sequence[Batch]) -> Tensor:
        """As `make`; the loss alone."""
        return self.make(step, batches).loss

    def again(self, step: int, batches: Sequence[Batch]) -> Tensor:
        """The step that was made last, once more: the same gradients, the same loss."""
        self.carried.again()
        return self.gradients(step, batches)

    def make(self, step: int, batches: Sequence[Batch]) -> Made:
        """Gradients of the mean loss over all batches, as of one large batch; that loss.

        Chance (dropout) is a function of the seed, the step and the place of the batch in it. Where memory runs out,
        the batches are split and all is done again: the same mean, from smaller parts.
        """
        parts = list(batches)
        self.carried.begin()
        while True:
            try:
                return self._once(step, parts)
            except (torch.OutOfMemoryError, RuntimeError) as error:
                if not _out_of_memory(error):
                    raise
            # only here: while the error is at hand, it holds what the failed pass had made
            parts = self._smaller(step, parts)

    def seed_chance(self, step: int, place: int = 0) -> None:
        """As torch.manual_seed, which keeps a traceback for each kind of device that is not here: 1 ms a step."""
        seed = _mixed(self.seed, step, place)
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.default_generators[self.device.index or 0].manual_seed(seed)
        elif self.device.type != "cpu":
            torch.get_device_module(self.device).manual_seed(seed)

    def _once(self, step: int, batches: Sequence[Batch]) -> Made:
        self.model.zero_grad(set_to_none=True)
        objective = Likelihood(self.task) if self.objective is None else self.objective
        count = max(1, sum(map(objective.count, batches)))
        total, figures = torch.zeros((), device=self.device), Counter[str]()
        for place, batch in enumerate(batches):
            self.seed_chance(step, place)
            there = batch.to(self.device)
            if self.task.streams is not None:
                there = replace(there, carried=self.carried)
            parts = objective.parts(self.model, there, self.goals, _mixed(self.seed, step))
            while True:
                with self.autocast():
                    part = next(parts, None)
                if part is None:
                    break
                if part.loss is not None:
                    (part.loss / count).backward()
                total += part.value / count
                figures.update(part.figures)
        return Made(total, {name: value / count for name, value in figures.items()})

    def autocast(self) -> AbstractContextManager[object]:
        return nullcontext() if self.precision is None else torch.autocast(self.device.type, self.precision)

    @torch.no_grad()
    def not_finite(self, examples: Examples) -> Longs:
        """Which of the examples, each for itself, have a loss that is no number."""
        rows, guilty = [np.arange(len(examples))], list[int]()
        while rows:
            here = rows.pop()
            batch = self.task.batch(examples.take(here))
            if not len(here) or bool(self.task.loss(self.model, batch.to(self.device), self.goals).isfinite()):
                continue
            if len(here) == 1:
                guilty += here.tolist()
            else:
                rows += np.array_split(here, 2)
        return np.asarray(sorted(guilty), np.int64)

    def _smaller(self, step: int, parts: Sequence[Batch]) -> list[Batch]:
        self.model.zero_grad(set_to_none=True)
        if self.device.type != "cpu":
            torch.get_device_module(self.device).empty_cache()
        if self.task.streams is not None:
            raise FailedError(
                f"step {step}: out of memory; a text that is read side by side (task.carry) cannot be read in parts: "
                "set a smaller training.batch or task.context, or take a smaller model"
            )
        halves = [half for batch in parts for half in self._halves(batch)]
        if len(halves) == len(parts):
            raise FailedError(
                f"step {step}: out of memory, even with one example at a time; "
                "allow shorter examples only (--set data.longest=…), or take a smaller model"
            )
        self.note(f"step {step}: out of memory; done again in {len(halves)} parts")
        return halves

    def _halves(self, batch: Batch) -> list[Batch]:
        rows = np.arange(len(batch.examples))
        if len(rows) < 2:
            return [batch]
        return [self.task.batch(batch.examples.take(half)) for half in np.array_split(rows, 2)]


def _out_of_memory(error: Exception) -> bool:
    told = "can't allocate memory", "MPS backend out of memory"  # where it is an error like others
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in told)


def _mixed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
