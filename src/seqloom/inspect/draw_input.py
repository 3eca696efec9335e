"""What a stack reads as boxes: tokens or readings, their vectors, positions."""
# T positions  D width

from collections.abc import Iterator

import torch
from torch import Tensor

from seqloom.inspect.draw_norm import draw_norm, draw_sum
from seqloom.inspect.drawing import Drawing, Side, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.embedding import InputSettings, SpelledEmbedding, TokenEmbedding
from seqloom.models.input import Input


def draw_input(drawing: Drawing, id: str, part: Input, settings: InputSettings, side: Side, axis: Axis) -> Spot:
    title = {"source": "source", "target": "target"}.get(id, "input")
    drawing.group(id, title, side)
    read = _given(drawing, id, part, axis)
    read = _embedding(drawing, id, part, settings, read, axis)
    if part.positions is not None:
        where = _positions(drawing, id, part, axis)
        if part.concat:
            read = _beside(drawing, f"{id}.sum", read, where, axis)
        else:
            read = draw_sum(drawing, f"{id}.sum", read, where, axis, title="add positions")
    return draw_norm(drawing, f"{id}.norm", part.norm, read, axis)


def _given(drawing: Drawing, id: str, part: Input, axis: Axis) -> Spot:
    tokens = isinstance(part.embedding, TokenEmbedding)

    def values(seen: Seen) -> Iterator[Value]:
        given = _dense(seen.read(f"{id}.embedding"))
        if given.dim() == 1:
            yield Value("i", "number of each piece", given[:, None].float(), axis)
        else:
            yield Value("x", "what is read", given, None, "inputs")

    kind = "tokens" if tokens else "readings"
    return drawing.add(f"{id}.tokens", kind, kind, [], values)


def _dense(given: Tensor) -> Tensor:
    return given.to_dense() if given.is_sparse else given


def _embedding(drawing: Drawing, id: str, part: Input, settings: InputSettings, read: Spot, axis: Axis) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("E", "vectors", seen.made(f"{id}.embedding"), axis)

    if isinstance(part.embedding, SpelledEmbedding):
        spelt = _spelt(drawing, id, part.embedding, read, axis)
        reads = [read, spelt]
    else:
        reads = [read]
    shown = settings.model_dump(mode="json", exclude_none=True)
    shown |= {"factor": part.embedding.factor} if isinstance(part.embedding, TokenEmbedding) else {}
    return drawing.add(
        f"{id}.embedding", "embedding", "embedding", reads, values, parameters=count(part.embedding), settings=shown
    )


def _spelt(drawing: Drawing, id: str, embedding: SpelledEmbedding, read: Spot, axis: Axis) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        if f"{id}.embedding.spelt" in seen.calls:  # words and letters of all rows lie in one
            call = seen.call(f"{id}.embedding.spelt")
            yield Value("l", "the highest of each word's letters", call.args[0].detach(), axis)
            yield Value("y", "what its letters add to each word", call.result.detach(), axis)

    parameters = count(embedding.reader, embedding.spelt) + embedding.letter_VL.numel()
    name = f"{id}.embedding"
    return drawing.add(f"{name}.spelt", "spelling", "spelling", [read], values, parameters=parameters, of=name)


def _positions(drawing: Drawing, id: str, part: Input, axis: Axis) -> Spot:
    assert part.positions is not None
    kind = type(part.positions).__name__.removesuffix("Positions").lower()

    def values(seen: Seen) -> Iterator[Value]:
        yield Value("P", "a vector of each place", seen.made(f"{id}.positions"), axis)

    return drawing.add(
        f"{id}.positions",
        "positions",
        f"{kind} positions",
        [],
        values,
        parameters=count(part.positions),
        settings={"kind": kind, "base": getattr(part.positions, "base", None)},
    )


def _beside(drawing: Drawing, id: str, x: Spot, y: Spot, axis: Axis) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        x_TD, y_TD = x.made(seen), y.made(seen)
        yield Value("x", "vectors", x_TD, axis)
        yield Value("p", "positions", y_TD, axis)
        yield Value("s", "side by side", _joined(x_TD, y_TD), axis)

    return drawing.add(id, "concat", "beside positions", [x, y], values)


def _joined(x_TD: Tensor, y_TD: Tensor) -> Tensor:
    return torch.cat((x_TD, y_TD), -1)
