"""Labels, looked at: a tag for each word, a class for a text, a series or a picture."""
# T positions  V labels  W words

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import TokenChange
from seqloom.inspect.trace import Example
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.labelling import Labeller, words_of
from seqloom.jobs.answering.series_labelling import SeriesLabeller
from seqloom.jobs.answering.tags_of import tags_of
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.looking.documents import AnswerDocument, Labelled, Place, Tagged
from seqloom.jobs.looking.notes import unread
from seqloom.jobs.looking.places import reading_places
from seqloom.jobs.looking.subject import ALTERNATIVES, Subject, places
from seqloom.jobs.looking.tokens import replace_tokens
from seqloom.jobs.model import Model
from seqloom.layers.chain import Links
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.tasks.classify import ClassifyTask
from seqloom.text import Labels
from seqloom.text.labels import NONE


def labels_subject(
    model: Model,
    labeller: Labeller,
    question: Question,
    target: Any,
    tokens: Sequence[TokenChange],
    settings: GenerationSettings,
) -> Subject:
    asked = model.prepare(question, 0, settings)
    if asked.item is None:
        raise UserError("input is empty, so that there is nothing to look at")
    asked = _changed(labeller, asked, tokens)
    side = labeller.side([asked])
    read = side.tokens_N
    seen = _places(model, labeller, asked, read)
    names = labeller.task.labels.names
    if isinstance(labeller.task, ClassifyTask):
        goal = None if target is None else torch.tensor(labeller.task.labels.encode([_one(target)]))
        return Subject(
            Example(read, goal=goal),
            lambda scores_V: _classes(scores_V, names, seen),
            lambda: names,
            seen,
            forced=target is not None,
            notes=() if isinstance(labeller, SeriesLabeller) else unread(asked, labeller.task.codecs.vocabulary),
        )
    firsts = labeller.firsts(asked)
    words = words_of(asked.question.source)[: len(firsts)]
    length = len(seen)
    goal = None if target is None else _goal(labeller.task.labels, _tags(target), firsts, length)
    return Subject(
        Example(read, goal=goal, words=tuple(firsts)),
        lambda scores_TV: _tagged(scores_TV[firsts], labeller.links, words, names, seen),
        lambda: names,
        seen,
        forced=target is not None,
        notes=unread(asked, labeller.task.codecs.vocabulary),
        rows=tuple(firsts),
        links=labeller.links,
    )


def _changed(labeller: Labeller, asked: Prepared, tokens: Sequence[TokenChange]) -> Prepared:
    if not tokens:
        return asked
    if isinstance(labeller, SeriesLabeller):
        raise UserError("token: this model reads numbers, not tokens; change the input itself")
    if labeller.spelled:
        raise UserError("token: words are read letter by letter here; change the input itself")
    assert asked.item is not None
    ids = replace_tokens(asked.item.source, tokens, "source", labeller.task.codecs.vocabulary)
    return replace(asked, item=replace(asked.item, source=ids))


def _places(model: Model, labeller: Labeller, asked: Prepared, read: Tensor) -> tuple[Place, ...]:
    """What stands at each position that the model sees."""
    settings = model.networks[0].settings.input
    if read.is_floating_point() or settings.kind == "images":
        return reading_places(settings, len(read), tokens=not read.is_floating_point())
    vocabulary = labeller.task.codecs.vocabulary
    if not labeller.spelled:
        return places(read.tolist(), vocabulary)
    heads = [id for id in read.tolist() if id < len(vocabulary)]
    words = words_of(asked.question.source) if not isinstance(labeller.task, ClassifyTask) else []
    shown = places(heads, vocabulary)
    return tuple(
        Place(words[number] if number < len(words) else place.text, place.id) for number, place in enumerate(shown)
    )


def _classes(scores_V: Tensor, names: Sequence[str], seen: tuple[Place, ...]) -> AnswerDocument:
    chances_V = scores_V.float().softmax(-1)
    order = chances_V.argsort(descending=True, stable=True).tolist()
    classes = tuple(Labelled(names[label], float(chances_V[label])) for label in order)
    return AnswerDocument(classes[0].label, classes[0].probability, seen, classes=classes)


def _tagged(
    scores_WV: Tensor, links: Links | None, words: Sequence[str], names: Sequence[str], seen: tuple[Place, ...]
) -> AnswerDocument:
    """What was chosen comes first, also where a chain chose a tag that is not the likeliest of its word."""
    (found,) = tags_of([scores_WV.float().log_softmax(-1)], links)
    chances_WV = found.log_probs_WV.exp()
    best_WV = chances_WV.topk(min(ALTERNATIVES, len(names)), -1).indices
    tags = []
    for word, tag, others, chances_V in zip(words, found.tags, best_WV.tolist(), chances_WV.tolist(), strict=True):
        order = [tag, *(other for other in others if other != tag)][:ALTERNATIVES]
        options = tuple(Labelled(names[label], chances_V[label]) for label in order)
        tags.append(Tagged(word, options[0].label, options[0].probability, options))
    return AnswerDocument(" ".join(one.tag for one in tags), math.exp(found.log_prob), seen, tags=tuple(tags))


def _one(target: Any) -> str:
    if not isinstance(target, str):
        raise UserError(f"target should be a label, but is {show(target)}")
    return target


def _tags(target: Any) -> list[str]:
    if isinstance(target, str):
        return [tag for tag in target.split(" ") if tag]
    if isinstance(target, list | tuple) and all(isinstance(tag, str) for tag in target):
        return list(target)
    raise UserError(f"target should be tags with spaces between them, but is {show(target)}")


def _goal(labels: Labels, tags: Sequence[str], firsts: Sequence[int], length: int) -> Tensor:
    if len(tags) != len(firsts):
        raise UserError(f"target: {len(firsts)} words, but {len(tags)} tags; each word needs one")
    goal_T = torch.full((length,), NONE)
    goal_T[list(firsts)] = torch.tensor(labels.encode(tags))
    return goal_T
