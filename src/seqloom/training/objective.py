"""What a step lowers: the likelihood's loss, or another; in parts, so that only one of them is in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from seqloom.models.build import Model
from seqloom.tasks import Batch, Goals, Task


@dataclass(frozen=True)
class Part:
    """Sums over what an objective counts."""

    loss: Tensor | None
    """Its gradient is the step's; None: there is nothing to learn from this part."""
    value: Tensor | float
    """What is told of it: an estimate may have another value than what its gradient comes from."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What else is told."""


class Objective(Protocol):
    def count(self, batch: Batch) -> int:
        """How many things of a batch its mean is over."""

    def parts(self, model: Model, batch: Batch, goals: Goals, seed: int) -> Iterator[Part]:
        """Each is differentiated before the next is asked for. seed: of what is drawn, another in each step."""


@dataclass(frozen=True)
class Likelihood:
    """−log p[goal], a mean over all parts of the goal that count."""

    task: Task

    def count(self, batch: Batch) -> int:
        return batch.count

    def parts(self, model: Model, batch: Batch, goals: Goals, seed: int) -> Iterator[Part]:
        loss = self.task.loss(model, batch, goals)
        yield Part(loss, loss.detach())
