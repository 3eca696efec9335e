"""The windows in which a running text is scored: how much is read together, and how much of that is scored."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.answering.scoring import Given
from seqloom.jobs.answering.writing import room
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.tasks.settings import Language, TaskSettings


@dataclass(frozen=True)
class Windows:
    """context: tokens that are read together. stride: of these the last are scored; None: all, as in a validation."""

    context: int
    stride: int | None = None

    @property
    def words(self) -> str:
        return f"in windows of {self.context:,}" + (
            "" if self.stride is None else f", of each the last {self.stride:,}"
        )

    def __call__(self, ids_N: NDArray[np.int64]) -> Iterator[Given]:
        """All of a text but its first token, each once. The first window has nothing before it, and is scored whole."""
        last, done = len(ids_N) - 1, 0
        while done < last:
            end = min(last, done + (self.context if done == 0 else self.stride or self.context))
            begin = max(0, end - self.context) if self.stride is not None else done
            yield Given(ids_N[begin : done + 1].tolist(), ids_N[done + 1 : end + 1].tolist())
            done = end


def windows_of(model: Model, run: str, settings: EvaluationSettings) -> Windows | None:
    return windows_for(model.recipe.task, room(model.networks, "decoder"), run, settings)


def windows_for(task: TaskSettings, most: int, run: str, settings: EvaluationSettings) -> Windows | None:
    """As the settings ask for; None where they do not. What has no such windows is refused. most: positions."""
    if settings.context is None and settings.stride is None:
        return None
    name = "context" if settings.context is not None else "stride"
    if not (isinstance(task, Language) and task.lines == "text"):
        raise UserError(f"evaluation.{name}: is of running text, and {run} reads none in windows; leave it out")
    context, stride = settings.context or task.context, settings.stride
    if stride is not None and stride > context:
        raise UserError(f"evaluation.stride={stride}: more than the {context} tokens that are read together")
    if context > most:
        raise UserError(f"evaluation.context={context}: the positions of {run} end at {most}; ask for {most} at most")
    return Windows(context, stride)
