"""The feed-forward layer as boxes: dense, gated, or a mixture of experts."""
# T positions  F hidden width  E experts

from collections.abc import Iterator

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.feed_forward import FeedForward


def draw_feed_forward(drawing: Drawing, id: str, layer: FeedForward, read: Spot, axis: Axis) -> Spot:
    if isinstance(layer.layer, DenseFeedForward):
        return _dense(drawing, id, layer.layer, read, axis)
    raise NotImplementedError


def _dense(drawing: Drawing, id: str, layer: DenseFeedForward, read: Spot, axis: Axis) -> Spot:
    def hidden(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes in", seen.read(f"{id}.layer.inputs"), axis)
        made_TF = seen.made(f"{id}.layer.inputs")
        if layer.gated:
            gate_TF, value_TF = made_TF.chunk(2, -1)
            yield Value("u", "what is gated", value_TF, axis)
            yield Value("h", "the gate, before its activation", gate_TF, axis)
        else:
            yield Value("h", "the hidden layer, before its activation", made_TF, axis)

    def active(seen: Seen) -> Iterator[Value]:
        yield Value("a", "the hidden layer", seen.read(f"{id}.layer.out"), axis)

    def out(seen: Seen) -> Iterator[Value]:
        yield from hidden(seen)
        yield from active(seen)
        yield Value("y", "what comes out", seen.made(f"{id}.layer.out"), axis)

    settings = {"gated": layer.gated, "activation": layer.activation, "width": layer.out.in_features}
    first = drawing.add(
        f"{id}.hidden",
        "hidden",
        "first linear map",
        [read],
        hidden,
        parameters=count(layer.inputs),
        of=id,
        settings=settings,
    )
    second = drawing.add(f"{id}.active", "activation", layer.activation, [first], active, of=id, settings=settings)
    return drawing.add(id, "feed-forward", "feed-forward", [second], out, parameters=count(layer), settings=settings)
