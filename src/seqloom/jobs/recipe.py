"""A recipe: one system in one file, with all that a run of it needs."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from seqloom.data.settings import DataSettings
from seqloom.models.settings import ModelSettings
from seqloom.settings import Frozen, all_impossible
from seqloom.tasks import TaskSettings, Translate, task_class
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
        if self.task.kind in ("language", "tag") and isinstance(self.text.source, BPE) and self.text.source.dropout:
            yield ("text", "source", "dropout"), f"BPE dropout is not for {self.task.kind}: set it to 0"
        two = task_class(self.task).shape == "pairs" and not self.text.shared
        if two and self.model.tie in ("inputs", "all"):
            yield ("model", "tie"), f"tie = '{self.model.tie}' needs one vocabulary for both sides: text.shared = true"
