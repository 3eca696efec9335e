"""How good the tags of a model are: of words, of whole sentences, and of the spans that they mark."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch

from seqloom.data.cache import Examples
from seqloom.evaluation import Accuracy, ExactMatch, Metric, total
from seqloom.evaluation.spans import OUTSIDE, SpanF1, kinds_of, marks_spans
from seqloom.jobs.learning.answers import chosen
from seqloom.models.build import Model
from seqloom.tasks.tag import TagTask
from seqloom.text.labels import NONE, UNSEEN

T = TypeVar("T")


def tag_scores(
    task: TagTask, model: Model, parts: Iterable[tuple[Sequence[str], Iterable[Examples]]], device: torch.device
) -> dict[str, float]:
    """In percent. A tag that training never saw cannot be given, and counts as wrong.

    parts: the names of such tags, and the examples that they stand in.
    """
    known = task.labels.names
    said, wanted = list[list[str]](), list[list[str]]()
    for unseen, batches in parts:
        names = dict(enumerate(known)) | {UNSEEN - number: name for number, name in enumerate(unseen)}
        for examples in batches:
            batch, target = task.batch(examples), examples.columns["target"]
            word_N = target.values_N != NONE
            ends = np.concatenate([[0], np.cumsum(word_N)])[target.starts]
            ids = chosen(model, batch, device)[batch.goal != NONE]
            for found, each in (said, ids.tolist()), (wanted, target.values_N[word_N].tolist()):
                tags = [names[id] for id in each]
                found += [tags[begin:end] for begin, end in pairwise(ends)]
    lines = ([" ".join(tags) for tags in each] for each in (said, wanted))
    scores = {Accuracy.name: _score(Accuracy(), said, wanted), ExactMatch.name: _score(ExactMatch(), *lines)}
    if marks_spans(known):
        # one unseen tag of another form is not worth a run
        wanted = [[tag if marks_spans([tag]) else OUTSIDE for tag in tags] for tags in wanted]
        spans = SpanF1(kinds_of([*known, *(tag for tags in wanted for tag in tags)]))
        scores[spans.name] = _score(spans, said, wanted)
    return scores


def _score(metric: Metric[T], said: Sequence[T], wanted: Sequence[T]) -> float:
    return float(metric.score(total(metric.statistics(said, [wanted]))))
