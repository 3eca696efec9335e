"""The documents of the studio: what a page is told of a model, an answer, a box. `to_json` writes any of them."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from seqloom.inspect.drawing import Box, Group

Kind = Literal["pairs", "prompt", "words", "text", "series", "image", "forecast", "graph"]


@dataclass(frozen=True)
class Place:
    """A place in a sequence. id: -1: no token stands there, but a reading, a patch, a node."""

    text: str
    id: int = -1


@dataclass(frozen=True)
class Option:
    token: Place
    probability: float


@dataclass(frozen=True)
class Step:
    """A token that was written, and what else could have been, the likeliest first."""

    token: Place
    probability: float
    alternatives: tuple[Option, ...]


@dataclass(frozen=True)
class TokenLoss:
    token: Place
    loss: float
    probability: float


@dataclass(frozen=True)
class Loss:
    """In nats: the mean over the tokens of a target, their sum, and each by itself."""

    value: float
    total: float
    tokens: tuple[TokenLoss, ...]


@dataclass(frozen=True)
class Labelled:
    label: str
    probability: float


@dataclass(frozen=True)
class Tagged:
    word: str
    tag: str
    probability: float
    alternatives: tuple[Labelled, ...]


@dataclass(frozen=True)
class ForecastDocument:
    """In the units of the data, plain lists. history_TC: what the model saw, null where a value is missing; point_HC;
    quantiles_HCQ: of each value as many as there are levels. past: the times of the history."""

    times: tuple[str, ...]
    history: tuple[tuple[float, ...], ...]
    names: tuple[str, ...]
    point: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]
    quantiles: tuple[tuple[tuple[float, ...], ...], ...]
    past: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeDocument:
    name: str
    label: str | None
    said: str
    probability: float


@dataclass(frozen=True)
class GraphDocument:
    """edges: from, to, weight: by the nodes' places in the list."""

    nodes: tuple[NodeDocument, ...]
    edges: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class AnswerDocument:
    """What a model said; by its task one of the last four. loss: of the target, if one was given."""

    text: str
    score: float
    source: tuple[Place, ...] = ()
    target: tuple[Place, ...] = ()
    steps: tuple[Step, ...] = ()
    loss: Loss | None = None
    classes: tuple[Labelled, ...] | None = None
    tags: tuple[Tagged, ...] | None = None
    forecast: ForecastDocument | None = None
    graph: GraphDocument | None = None
    notes: tuple[str, ...] = ()
    """What whoever reads it should know: words that the model does not, what was left out."""


@dataclass(frozen=True)
class ModelDocument:
    """image: of a model that reads pictures, how it cuts them: columns, patch, channels."""

    name: str
    task: str
    family: str
    kind: Kind
    examples: tuple[Any, ...]
    lecture: bool
    image: Mapping[str, int] | None = None


@dataclass(frozen=True)
class FlowDocument:
    """edges: from, to, and flow, residual or memory. A box whose `of` is set is a step within that one."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[str, str, str], ...]
    groups: tuple[Group, ...]
    rules: tuple[Mapping[str, Any], ...] = ()
    """Changes of the whole model that it can have: no positions, no mask."""


@dataclass(frozen=True)
class BoxSummary:
    shapes: tuple[tuple[int, ...], ...]
    least: float | None
    most: float | None
    mean: float | None


@dataclass(frozen=True)
class TraceDocument:
    """source: what the encoder read. target: what the decoder, or the only stack, read; written: what should come of
    it, place by place."""

    source: tuple[Place, ...]
    target: tuple[Place, ...]
    written: tuple[Place, ...]
    boxes: Mapping[str, BoxSummary]
    loss: Loss | None
    notes: tuple[str, ...] = ()
    """What whoever looks should know of these numbers."""


@dataclass(frozen=True)
class ValueDocument:
    name: str
    title: str
    rows: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    heads: bool
    matrix: Tensor


@dataclass(frozen=True)
class EquationDocument:
    symbols: str
    numbers: str


@dataclass(frozen=True)
class BoxDocument:
    box: str
    values: tuple[ValueDocument, ...]
    equation: EquationDocument
    sentence: str


@dataclass(frozen=True)
class HeadDocument:
    """Means over all rows. entropy: in nats. diagonal, before, first: how much of the weight lies on the place itself,
    on the one before it, on the first of all. surest: the largest weight."""

    entropy: float
    diagonal: float
    before: float
    first: float
    surest: float


@dataclass(frozen=True)
class LayerDocument:
    id: str
    title: str
    kind: Literal["self", "cross"]
    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    weights: Tensor
    """[heads, rows, columns]; [heads, 0, 0]: they are many, and left out."""
    heads: tuple[HeadDocument, ...]


@dataclass(frozen=True)
class AttentionDocument:
    layers: tuple[LayerDocument, ...]


@dataclass(frozen=True)
class InfluenceDocument:
    """log p of each token of the answer, less what it is when a place of what is read is left out. rows: the answer."""

    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    values: Tensor


def to_json(document: Any) -> Any:
    """Plain lists and dicts. A tensor is its shape and base64 of little-endian float32; a number that is none is null.

    Of an answer, what its task does not have is left out.
    """
    match document:
        case Tensor():
            return matrix_json(document)
        case float():
            return document if math.isfinite(document) else None
        case str() | int() | None:
            return document
        case Mapping():
            return {str(name): to_json(value) for name, value in document.items()}
        case Sequence():
            return [to_json(value) for value in document]
        case _ if is_dataclass(document):
            every = {field.name: to_json(getattr(document, field.name)) for field in fields(document)}
            absent = {"classes", "tags", "forecast", "graph"} if isinstance(document, AnswerDocument) else set()
            return {name: value for name, value in every.items() if value is not None or name not in absent}
        case _:
            raise TypeError(f"no JSON for a {type(document).__name__}")


def matrix_json(matrix: Tensor) -> dict[str, Any]:
    plain = matrix.detach().to("cpu", torch.float32).contiguous()
    return {"shape": list(plain.shape), "data": base64.b64encode(plain.numpy().astype("<f4").tobytes()).decode("ascii")}
