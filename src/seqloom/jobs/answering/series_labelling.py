"""A class for a series of readings, which is given as it is, not as text."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import series_of
from seqloom.data.readings import Floats, Readings, steps_of
from seqloom.generation.contract import Item
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.labelling import Labeller
from seqloom.jobs.answering.wishes import refuse_wishes
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.recipes.recipe import learned_positions
from seqloom.models.build import Model as Network
from seqloom.settings import UserError
from seqloom.tasks.batch import Side
from seqloom.tasks.classify import ClassifyTask


class SeriesLabeller(Labeller):
    task: ClassifyTask

    def __init__(self, task: ClassifyTask, networks: Sequence[Network], device: torch.device) -> None:
        super().__init__(task, networks, device)
        every = (length for one in networks for length in learned_positions(one.settings, "encoder", series=True))
        self.reads = min(every, default=sys.maxsize)

    @property
    def readings(self) -> Readings:
        assert isinstance(self.task.codecs.source, Readings)
        return self.task.codecs.source

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        refuse_wishes(question, "a label is chosen")
        fitted = self.readings.form.fitted(_array(question.source))
        wrong = self.readings.form.misfit(fitted)
        if wrong is not None:
            raise UserError(f"{wrong.what}; {wrong.fix}")
        x = steps_of(fitted)
        cut = max(0, len(x) - self.reads)
        read = Question(x[: len(x) - cut])
        # the item stands for the steps, by whose number batches and limits go
        return Prepared(number, read, Item(range(len(x) - cut), number, 0), cut)

    def side(self, asked: Sequence[Prepared]) -> Side:
        return self.task.side(self.readings.encode([_array(one.question.source) for one in asked]))


def _array(source: Any) -> Floats:
    """A series as it was read from a file, or as a Python program hands it over."""
    if isinstance(source, str):
        raise UserError("the source should be a series of numbers, but is text")
    if isinstance(source, np.ndarray):
        x = source[:, None] if source.ndim == 1 else source
        if x.ndim not in (2, 3) or not x.size or x.dtype.kind not in "fiu":
            raise UserError(f"a series is an array of steps and readings, not {source.dtype} of shape {source.shape}")
        return x
    found = series_of(source)
    if isinstance(found, Broken):
        raise UserError(found.what)
    return found
