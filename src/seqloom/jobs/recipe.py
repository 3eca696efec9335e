"""A recipe: one system in one file, with all that a run of it needs."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from seqloom.data.settings import DataSettings
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.published import Published
from seqloom.layers.positions import Learned
from seqloom.models.settings import ModelSettings
from seqloom.settings import Frozen, all_impossible
from seqloom.tasks import Language, Tag, TaskSettings, Translate, task_class
from seqloom.text import BPE, TextSettings
from seqloom.training.settings import TrainingSettings


class Recipe(Frozen):
    """What a recipe file may hold."""

    source: str = Field(default="", description="where the system was published")
    task: TaskSettings = Translate()
    text: TextSettings = TextSettings()
    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    generation: GenerationSettings = GenerationSettings()
    target: Published = Field(default=Published(), description="what was published: shown beside what is measured")

    @property
    def longest_seen(self) -> int:
        """Tokens that a side of an example has at most in training."""
        if isinstance(self.task, Language) and self.task.lines == "text":
            return self.task.context
        return self.data.longest

    @model_validator(mode="after")
    def _possible(self) -> Self:
        faults = list(self._faults())
        if faults:
            raise all_impossible(faults)
        return self

    def _faults(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        why = task_class(self.task).refuses(self.model)
        if why is not None:
            yield ("model", "family"), why
        if self.training.best not in task_class(self.task).scores:
            known = ", ".join(task_class(self.task).scores)
            yield ("training", "best"), f"{self.task.kind} has no score '{self.training.best}'; it has {known}"
        running = isinstance(self.task, Language) and self.task.lines == "text"
        if (running or isinstance(self.task, Tag)) and isinstance(self.text.source, BPE) and self.text.source.dropout:
            what = "running text" if running else "tagged words"
            yield ("text", "source", "dropout"), f"{what} cannot be cut anew in each epoch; set dropout = 0"
        if isinstance(self.task, Language) and self.task.lines == "text":
            for length in learned_positions(self.model):
                if self.task.context > length:
                    yield ("task", "context"), f"{self.task.context} tokens, but the model's positions end at {length}"
        two = task_class(self.task).shape == "pairs" and not self.text.shared
        if two and self.model.tie in ("inputs", "all"):
            yield ("model", "tie"), f"tie = '{self.model.tie}' needs one vocabulary for both sides: text.shared = true"


def learned_positions(model: ModelSettings, *sides: Literal["encoder", "decoder"]) -> Iterator[int]:
    """How many positions each stack has, where they are learned. sides: of these only."""
    for name in sides or ("encoder", "decoder"):
        positions = model.side(name).positions
        if name in model.family and isinstance(positions, Learned):
            yield positions.length
