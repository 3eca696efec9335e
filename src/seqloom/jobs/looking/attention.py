"""Where every layer looks, and what kind of looking each head does."""
# H heads  T rows  S columns

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from seqloom.inspect.drawing import Box
from seqloom.inspect.trace import Trace
from seqloom.inspect.values import Value
from seqloom.jobs.looking.documents import AttentionDocument, HeadDocument, LayerDocument, Place
from seqloom.jobs.looking.subject import Subject
from seqloom.jobs.looking.values import labels
from seqloom.settings import UserError
from seqloom.settings.words import nearest

Weights = Literal["all", "light", "small"]
"""Which weights come with the layers. light: all, unless they are too many for one document: then none. small: for
pictures of `SMALL` points, of each part the largest."""
LIGHT = 1_000_000  # numbers
SMALL = 96


def attention_document(traced: Trace, subject: Subject) -> AttentionDocument:
    """Layers in the order in which they run."""
    layers = []
    for box in traced.flow.boxes:
        if box.kind == "softmax":
            value = next(one for one in traced.values(box.id) if one.name == "A")
            layers.append(_layer(box, value, traced, subject))
    return AttentionDocument(tuple(layers))


def chosen_layers(document: AttentionDocument, weights: Weights, layer: str | None) -> AttentionDocument:
    layers = {one.id: one for one in document.layers}
    if layer is not None and layer not in layers:
        near = nearest(layer, layers)
        fix = f"did you mean {near!r}?" if near else f"there are {', '.join(layers) or 'none'}"
        raise UserError(f"layer: there is no attention layer {layer!r}; {fix}")
    chosen = document.layers if layer is None else (layers[layer],)
    match weights:
        case "all":
            return AttentionDocument(chosen)
        case "light" if sum(one.weights.numel() for one in chosen) <= LIGHT:
            return AttentionDocument(chosen)
        case "light":
            return AttentionDocument(tuple(replace(one, weights=one.weights[:, :0, :0]) for one in chosen))
        case "small":
            return AttentionDocument(tuple(replace(one, weights=pooled(one.weights)) for one in chosen))


def pooled(weights_HTS: Tensor, most: int = SMALL) -> Tensor:
    """With `most` rows and columns at most: of each part the largest, so that nothing that stands out is lost."""
    T, S = weights_HTS.shape[1:]
    return torch.nn.functional.adaptive_max_pool2d(weights_HTS.float(), (min(T, most), min(S, most)))


def _layer(box: Box, value: Value, traced: Trace, subject: Subject) -> LayerDocument:
    id = box.of or box.id
    owner, crosses = traced.flow.box(id), value.rows != value.columns and value.columns == "source"
    # what is written there is what the look at the source was for; within a sequence, places are what was read
    rows = _places("written" if crosses and value.rows == "target" else value.rows, value.matrix.shape[-2], subject)
    columns = _places(value.columns, value.matrix.shape[-1], subject)
    title = f"{_group(traced, box)}: {box.title if owner is None else owner.title}"
    heads = tuple(summary(weights_TS) for weights_TS in value.matrix)
    return LayerDocument(id, title, "cross" if crosses else "self", rows, columns, value.matrix, heads)


def _group(traced: Trace, box: Box) -> str:
    return next(group.title for group in traced.flow.groups if group.id == box.group)


def _places(axis: str | None, size: int, subject: Subject) -> tuple[Place, ...]:
    known: dict[str, Sequence[Place]] = {
        "source": subject.source,
        "target": subject.target,
        "written": subject.written,
    }
    found = known.get(axis or "", ())
    if len(found) == size:
        return tuple(found)
    return tuple(Place(text) for text in labels(axis, size, subject) or ())  # type: ignore[arg-type]


def summary(weights_TS: Tensor) -> HeadDocument:
    weights_TS = weights_TS.double()
    logs = torch.where(weights_TS > 0, weights_TS.clamp(min=1e-300).log(), 0.0)
    entropy = float(-(weights_TS * logs).sum(-1).mean())
    rows = len(weights_TS)
    return HeadDocument(
        entropy,
        _mean(weights_TS.diagonal(), rows),
        _mean(weights_TS.diagonal(-1), rows),
        float(weights_TS[:, 0].mean()),
        float(weights_TS.amax(-1).mean()),
    )


def _mean(some: Tensor, rows: int) -> float:
    return float(some.sum()) / rows
