"""Answers of a model that is being trained, written by heart on a GPU (docs/decisions/0027-writing-on-a-gpu.md).

Training changes weights where they lie, so that what was recorded in one validation is played in the next. Recordings
that take much of the device's memory are not kept, as training needs it.
"""

from collections.abc import Callable

import torch

from seqloom.generation import Scorer
from seqloom.generation.scorer import PairScorer, TextScorer
from seqloom.generation.static_writing import Static
from seqloom.jobs.answering.writing import MANY
from seqloom.models.build import Model

KEPT = 0.05
"""The share of the device's memory that may be kept from one validation to the next."""


class ByHeart:
    """note: hears why it cannot be, if so; once."""

    def __init__(self, note: Callable[[str], None] = lambda text: None) -> None:
        self.note, self.works = note, True
        self._static: Static | None = None
        self._model: Model | None = None
        self._places: list[int] = []
        self._before = 0

    def static(self, scorer: Scorer, count: int) -> Static | None:
        """What writes so many answers; None: the other search is to do it. `done` is to be called behind it."""
        if not self.works or count < MANY or not isinstance(scorer, PairScorer | TextScorer):
            return None
        if not self._suits(scorer.device):
            return None
        places = _places(scorer.model)
        if self._static is None or scorer.model is not self._model or places != self._places:
            self._forget()  # what is old goes first
            self._model, self._places = scorer.model, places
            self._before = _allocated(scorer.device)
            self._static = Static(scorer, note=self.note)
        return self._static

    def done(self) -> None:
        """Keep it for the next time, if it works and is small."""
        if self._static is None:
            return
        device = self._static.tape.device
        self.works = self._static.works
        if not self.works or self._large(device):
            self._forget()
            if device.type == "cuda":
                torch.cuda.empty_cache()  # what recordings worked in is no use to others

    def _forget(self) -> None:
        if self._static is not None:
            self._static.forget()
        self._static = self._model = None

    def _suits(self, device: torch.device) -> bool:
        return device.type == "cuda"

    def _large(self, device: torch.device) -> bool:
        if device.type != "cuda":
            return False
        return _allocated(device) - self._before > KEPT * torch.cuda.get_device_properties(device).total_memory


def _places(model: Model) -> list[int]:
    """Where all numbers lie that a recording reads."""
    return [tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())]


def _allocated(device: torch.device) -> int:
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
