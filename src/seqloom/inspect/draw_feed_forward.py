"""The feed-forward layer as boxes: dense, gated, or a mixture of experts."""
# T positions  F hidden width  E experts

from collections.abc import Iterator

from torch import Tensor

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.feed_forward import FeedForward


def draw_feed_forward(drawing: Drawing, id: str, layer: FeedForward, read: Spot, axis: Axis) -> Spot:
    if isinstance(layer.layer, MixtureOfExperts):
        return _experts(drawing, id, layer.layer, read, axis)
    return _dense(drawing, id, layer.layer, read, axis)


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
        yield Value("y", "what comes out", seen.made(id), axis)

    settings = {"gated": layer.gated, "activation": layer.activation, "width": layer.out.in_features}
    parameters = count(layer.inputs)
    first = drawing.add(
        f"{id}.hidden", "hidden", "first linear map", [read], hidden, parameters=parameters, settings=settings, of=id
    )
    second = drawing.add(f"{id}.active", "activation", layer.activation, [first], active, of=id, settings=settings)
    title = "gated feed-forward" if layer.gated else "feed-forward"
    return drawing.add(id, "feed-forward", title, [second], out, parameters=count(layer), settings=settings)


def _experts(drawing: Drawing, id: str, layer: MixtureOfExperts, read: Spot, axis: Axis) -> Spot:
    def found(seen: Seen) -> tuple[Tensor, Tensor]:
        return seen.once(id, lambda: layer.gates(*seen.call(id).args[:2]))

    def gates(seen: Seen) -> Iterator[Value]:
        scores_BTE, gates_BTE = found(seen)
        yield Value("s", "how fitting each expert is", scores_BTE[0], axis, "experts")
        yield Value("g", "how much of each expert is used", gates_BTE[0], axis, "experts")

    def out(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes in", seen.read(id), axis)
        yield from gates(seen)
        yield Value("y", "what comes out", seen.made(id), axis)

    settings = layer.settings.model_dump(mode="json", exclude_none=True)
    gate = drawing.add(
        f"{id}.gates", "gates", "gates", [read], gates, parameters=layer.gate_DE.numel(), settings=settings, of=id
    )
    return drawing.add(
        id, "experts", "mixture of experts", [gate, read], out, parameters=count(layer), settings=settings
    )
