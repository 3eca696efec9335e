"""Looking inside a model while it answers: the documents of the studio (docs/decisions/0024-the-studio.md).

    model = load("runs/demo-dates")
    entry(model, "demo-dates")              → ModelDocument         flow(model) → FlowDocument
    look = Look(model, LookRequest("3 May 2021"))
    look.answer()                           → AnswerDocument
    look.trace()                            → TraceDocument
    look.box("encoder.blocks.0.mixer")      → BoxDocument
    look.attention()                        → AttentionDocument
    look.influence()                        → InfluenceDocument
    to_json(any of them)                    → what goes into the response

A Look runs the model at most once for its answer and once for its trace, when they are first asked for; keep it for as
long as somebody clicks from box to box. All that a user can do wrong raises a UserError.
"""
# H heads  T rows  S columns

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from seqloom.data.readings import Readings
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changed import rules
from seqloom.inspect.changes import Change, TokenChange
from seqloom.inspect.equations import equation
from seqloom.inspect.flow import draw
from seqloom.inspect.learnt import learnt
from seqloom.inspect.trace import Trace, run, trace
from seqloom.inspect.values import Value
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.looking.attention import Weights, attention_document, chosen_layers
from seqloom.jobs.looking.documents import (
    AnswerDocument,
    AttentionDocument,
    BoxDocument,
    BoxSummary,
    EquationDocument,
    FlowDocument,
    InfluenceDocument,
    Kind,
    ModelDocument,
    TraceDocument,
    to_json,
)
from seqloom.jobs.looking.example import subject_of
from seqloom.jobs.looking.influence import influence_document
from seqloom.jobs.looking.subject import Subject, with_loss
from seqloom.jobs.looking.values import value_document
from seqloom.jobs.model import Model
from seqloom.layers.images import Images
from seqloom.models.build import Model as Network
from seqloom.settings import UserError
from seqloom.settings.words import nearest
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.classify_series import ClassifySeriesTask
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask

__all__ = ["Look", "LookRequest", "entry", "flow", "to_json"]


@dataclass(frozen=True)
class LookRequest:
    """input: as in /v1/predict: a text; of taggers perhaps words; of series and pictures numbers; of graphs a node.

    target: the answer to force, as text. changes: see inspect/changes.py; settings: None: the run's own.
    """

    input: Any
    target: Any = None
    changes: tuple[Change, ...] = ()
    settings: GenerationSettings | None = None


def entry(model: Model, name: str, examples: Sequence[Any] = (), lecture: bool = False) -> ModelDocument:
    """What a list of models says of one. examples: inputs to begin with."""
    recipe = model.recipe
    read, kind = recipe.model.input, kind_of(model)
    cut = (
        {"columns": read.columns, "patch": read.patch, "channels": read.channels} if isinstance(read, Images) else None
    )
    return ModelDocument(name, recipe.task.kind, recipe.model.family, kind, tuple(examples), lecture, cut)


def kind_of(model: Model) -> Kind:
    """What kind of input it takes, so that a page knows what to offer."""
    match model.task:
        case NodesTask():
            return "graph"
        case ForecastTask():
            return "forecast"
        case ClassifySeriesTask():
            readings = model.task.codecs.source
            return "image" if isinstance(readings, Readings) and readings.columns is not None else "series"
        case TagTask():
            return "words"
        case ClassifyTask() | MaskedTask():
            return "text"
        case TranslateTask():
            return "pairs"
        case _:
            return "prompt"


def flow(model: Model) -> FlowDocument:
    """The model without an input: boxes, edges, groups."""
    network = network_of(model)
    drawn = draw(network)
    possible = tuple(change.model_dump(mode="json") for change in rules(network))
    return FlowDocument(drawn.boxes, drawn.edges, drawn.groups, possible)


def network_of(model: Model) -> Network:
    if len(model.networks) > 1:
        raise UserError("several runs answer together here, and each has an inside of its own; look at one of them")
    return model.networks[0]


class Look:
    """One input to one model, and all that can be seen of it."""

    def __init__(self, model: Model, request: LookRequest) -> None:
        self.model, self.request, self.network = model, request, network_of(model)
        self.settings = request.settings or generation_of(model.opened[0])
        self.inner = tuple(one for one in request.changes if not isinstance(one, TokenChange))
        """The changes within the model; those of tokens are made where ids are."""
        self.kept: dict[str, Any] = {}
        """What others found of it and will want again: the search's tree, documents that are written already."""

    @cached_property
    def subject(self) -> Subject:
        """The example as the model reads it. A model that writes now writes its answer, unless a target is given."""
        tokens = tuple(one for one in self.request.changes if isinstance(one, TokenChange))
        return subject_of(self.model, self.request.input, self.request.target, self.inner, tokens, self.settings)

    @cached_property
    def traced(self) -> Trace:
        with self.model.named():
            return trace(self.network, self.subject.example, self.inner)

    @cached_property
    def _scores(self) -> Tensor:
        """What the model says of the example; without looking inside, unless somebody did already."""
        if "traced" in self.__dict__:
            return self.traced.scores
        with self.model.named():
            return run(self.network, self.subject.example, self.inner)

    def answer(self) -> AnswerDocument:
        """What the model says: its text, each step with alternatives; of a given target the loss."""
        scores = self._scores
        return with_loss(self.subject.said(scores), self.subject.loss(scores), self.subject.notes)

    def trace(self) -> TraceDocument:
        """Every box with the shapes of what it made, and the least, most and mean of its last value."""
        boxes = {box.id: _summary(self.traced.values(box.id)) for box in self.traced.flow.boxes}
        subject = self.subject
        return TraceDocument(
            subject.source, subject.target, subject.written, boxes, subject.loss(self.traced.scores), subject.notes
        )

    def box(self, id: str, row: int | None = None, head: int | None = None) -> BoxDocument:
        """What one box made, behind what a small one learnt; its equation with the numbers of one row and head."""
        box = self.traced.flow.box(id)
        if box is None:
            near = nearest(id, [one.id for one in self.traced.flow.boxes])
            raise UserError(
                f"box: there is no box {id!r} in this model" + (f"; did you mean {near!r}?" if near else "")
            )
        values = [*learnt(self.network, box), *self.traced.values(id)]
        shown = tuple(value_document(value, self.subject) for value in values)
        try:
            found = equation(self.traced, id, row or 0, head or 0)
        except IndexError as error:
            raise UserError(str(error)) from None
        return BoxDocument(id, shown, EquationDocument(found.symbols, found.numbers), box.sentence)

    def attention(self, weights: Weights = "all", layer: str | None = None) -> AttentionDocument:
        """Every layer that weighs places, with all its heads; layer: only that one."""
        return chosen_layers(self._attention, weights, layer)

    @cached_property
    def _attention(self) -> AttentionDocument:
        return attention_document(self.traced, self.subject)

    def influence(self) -> InfluenceDocument:
        """What each token of the answer hangs on."""
        *_, found = self.influences()
        assert found is not None
        return found

    def influences(self) -> Iterator[InfluenceDocument | None]:
        """The same, last; None between the parts of the work, each with the model to itself."""
        return influence_document(self.network, self.subject, self._scores, self.inner)


def _summary(values: Sequence[Value]) -> BoxSummary:
    shapes = tuple(tuple(value.matrix.shape) for value in values)
    if not values:
        return BoxSummary(shapes, None, None, None)
    last = values[-1].matrix
    finite = last[torch.isfinite(last)]
    if not finite.numel():
        return BoxSummary(shapes, None, None, None)
    return BoxSummary(shapes, float(finite.min()), float(finite.max()), float(finite.mean()))
