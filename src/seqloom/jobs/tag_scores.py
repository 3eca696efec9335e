"""How good the tags of a model are: of words, and of the spans that they mark."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import torch

from seqloom.data.cache import Examples
from seqloom.evaluation import Accuracy, Metric, total
from seqloom.evaluation.labels import Labels
from seqloom.evaluation.spans import SpanF1, kinds_of, marks_spans
from seqloom.jobs.answers import chosen
from seqloom.models.build import Model
from seqloom.tasks.tag import TagTask
from seqloom.text.labels import NONE

STRANGE = "B-\n"
"""A tag that training never saw: a span of a kind of its own, which no model can find and no file can hold."""


def tag_scores(task: TagTask, model: Model, batches: Iterable[Examples], device: torch.device) -> dict[str, float]:
    """In percent. A tag that training never saw cannot be given, and counts as wrong."""
    names = (*task.labels.names, STRANGE)  # the last is that of NONE
    said, wanted = list[list[str]](), list[list[str]]()
    for examples in batches:
        batch = task.batch(examples)
        word = batch.goal != NONE
        target = examples.columns["target"]
        ends = np.concatenate([[0], np.cumsum(target.values_N != NONE)])[target.starts]
        for found, ids in (said, chosen(task, model, batch, device)[word]), (wanted, batch.goal[word].clamp(min=NONE)):
            tags = [names[id] for id in ids.tolist()]
            found += [tags[begin:end] for begin, end in pairwise(ends)]
    metrics: list[Metric[Labels]] = [Accuracy()]
    if marks_spans(task.labels.names):
        metrics.append(SpanF1(kinds_of(names)))
    return {metric.name: float(metric.score(total(metric.statistics(said, [wanted])))) for metric in metrics}
