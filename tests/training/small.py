"""A small run for tests of the loop: words backwards, all in memory but the run folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from seqloom.data.cache import Cache, CacheWriter
from seqloom.data.order import Order, Weighted
from seqloom.models.build import Model
from seqloom.store import RunFolder
from seqloom.tasks import Task, Translate
from seqloom.training.limits import Limits
from seqloom.training.loop import Loop, Setup
from seqloom.training.settings import TrainingSettings
from seqloom.training.validation import mean_loss
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of

WORDS = [
    first + second + third for first in "abcd" for second in ("", "e", "fg") for third in ("h", "ab", "cd", "efgh")
]  # 48
FILE = "pairs.tsv"
CPU = torch.device("cpu")


@dataclass
class Heard:
    """A teller that remembers."""

    notes: list[str] = field(default_factory=list)
    steps: list[Mapping[str, float]] = field(default_factory=list)
    validations: list[Mapping[str, float]] = field(default_factory=list)
    done: list[float] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, metrics: Mapping[str, float], tokens: int, done: float) -> None:
        self.steps.append(metrics)
        self.done.append(done)

    def validated(self, metrics: Mapping[str, float], better: bool) -> None:
        self.validations.append(metrics)


@dataclass
class Small:
    task: Task
    cache: Cache
    folder: Path

    def loop(
        self,
        *,
        model: Model | None = None,
        out: str = "run",
        batch: int = 60,
        limits: Limits | None = None,
        validate: Callable[[Model], Mapping[str, float]] | None = None,
        every: int = 5,
        heard: Heard | None = None,
        workers: int = 0,
        device: torch.device = CPU,
        **training: Any,
    ) -> Loop:
        run = RunFolder(self.folder / out)
        run.path.mkdir(exist_ok=True)
        setup = Setup(
            self.task,
            self.model() if model is None else model,
            Order([Weighted(self.cache)], batch, 1),
            TrainingSettings.model_validate({"schedule": {"kind": "constant"}, "batch": batch, **training}),
            limits or Limits(10, None),
            validate or self.validate,
            every,
            device,
            None,
            workers,
            (FILE,),
        )
        return Loop(setup, run, heard or Heard())

    def model(self, dropout: float = 0.0, **more: Any) -> Model:
        return model_for(self.task, "encoder-decoder", dropout=dropout, **more).float().train()

    def validate(self, model: Model) -> dict[str, float]:
        device = next(model.parameters()).device
        return {"loss": mean_loss(model, self.task, self.cache.read([0]), device)}


def small(folder: Path) -> Small:
    backwards = [word[::-1] for word in WORDS]
    task = task_of(Translate(), "pairs", CHARACTERS, WORDS, backwards)
    with CacheWriter(folder / "examples.arrow", task.encoder.columns, {}) as writer:
        writer.add(encoded(task, WORDS, backwards))
    return Small(task, Cache(folder / "examples.arrow"), folder)


def scripted(values: list[float], name: str = "loss") -> Callable[[Model], Mapping[str, float]]:
    left = iter(values)
    return lambda model: {"loss": 1.0, name: next(left)}
