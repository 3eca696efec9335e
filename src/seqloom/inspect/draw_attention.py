"""Attention as boxes: queries, keys and values; scores, mask, softmax; heads; the output."""
# T queries  S keys  H query heads  G key heads  K head width

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from torch import Tensor

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.attention import SelfAttention
from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.heads import HeadProjections
from seqloom.layers.linear import Linear
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.layers.positions import RotaryRelative


def draw_self_attention(drawing: Drawing, id: str, layer: SelfAttention, read: Spot, axis: Axis) -> Spot:
    steps = _Steps(drawing, id, layer.heads, id, axis, axis)
    turned = isinstance(layer.relative, RotaryRelative)
    q = steps.projection("q", "queries", [read], turned)
    k, v = steps.projection("k", "keys", [read], turned), steps.projection("v", "values", [read])
    biased = layer.relative is not None and not turned
    steps.score(q, k, hides=drawing.structured or _hides(layer), biased=biased)
    heads = steps.heads(v)
    title = "masked self-attention" if layer.causal else "self-attention"
    settings = layer.settings.model_dump(mode="json", exclude_none=True)
    return drawing.add(
        id, "attention", title, [heads], partial(_all, steps), parameters=count(layer), settings=settings
    )


def _hides(layer: SelfAttention) -> bool:
    return layer.causal or layer.settings.window is not None or layer.settings.block is not None


def draw_compressed(drawing: Drawing, id: str, layer: MemoryCompressedAttention, read: Spot, axis: Axis) -> Spot:
    """Keys and values of several places each become one before they are looked at."""
    steps = _Steps(drawing, id, layer.heads, id, axis, "groups")
    q = steps.projection("q", "queries", [read])
    k, v = steps.projection("k", "compressed keys", [read]), steps.projection("v", "compressed values", [read])
    steps.score(q, k, hides=layer.causal, biased=False)
    heads = steps.heads(v)
    settings = layer.settings.model_dump(mode="json", exclude_none=True)
    title = "masked compressed attention" if layer.causal else "compressed attention"
    return drawing.add(
        id, "attention", title, [heads], partial(_all, steps), parameters=count(layer), settings=settings
    )


def draw_cross_attention(
    drawing: Drawing,
    id: str,
    layer: MemoryAttention,
    read: Spot,
    memory: Spot,
    axis: Axis,
    given: Spot | None = None,
    embedded: Spot | None = None,
) -> Spot:
    """given: what the stack reads, where queries know it too; embedded: the same of the source, for values."""
    steps = _Steps(drawing, id, layer.heads, id, axis, "source")
    heads = steps.crossing([read, *([] if given is None else [given])], memory, embedded)
    settings = layer.settings.model_dump(mode="json", exclude_none=True)
    title = "attention over the source"
    return drawing.add(
        id, "cross-attention", title, [heads], partial(_all, steps), parameters=count(layer), settings=settings
    )


def attention_steps(
    drawing: Drawing, id: str, layer: MemoryAttention, read: Spot, *, memory: Spot, of: str, axis: Axis
) -> Spot:
    """The same as steps of a box that is more than attention; the last one is what was found."""
    return _Steps(drawing, id, layer.heads, of, axis, "source").crossing([read], memory, None)


class _Steps:
    """The steps within one attention layer. of: the box that they are steps of."""

    def __init__(self, drawing: Drawing, id: str, heads: HeadProjections, of: str, rows: Axis, columns: Axis) -> None:
        self.drawing, self.id, self.projections, self.of = drawing, id, heads, of
        self.rows, self.columns = rows, columns
        self.names: list[str] = []

    def crossing(self, reads: list[Spot], memory: Spot, embedded: Spot | None) -> Spot:
        """All steps of attention over a source; the last one."""
        q = self.projection("q", "queries", reads)
        k = self.projection("k", "keys", [], memory=memory)
        v = self.projection("v", "values", [] if embedded is None else [embedded], memory=memory)
        self.score(q, k, hides=False, biased=False)
        return self.heads(v)

    def projection(
        self, name: str, title: str, reads: list[Spot], turned: bool = False, memory: Spot | None = None
    ) -> Spot:
        heads, is_query = self.projections, name == "q"
        settings = {
            "heads": heads.H if is_query else heads.G,
            "head_width": heads.K if is_query else heads.J,
            "project": heads.project,
            "bias": heads.project and _map(heads, name).bias is not None,
            "turned": turned,
        }
        kind = {"q": "queries", "k": "keys", "v": "values"}[name]
        parameters = _projected(heads, name)
        return self._add(name, kind, title, reads, settings=settings, memory=memory, parameters=parameters)

    def score(self, q: Spot, k: Spot, hides: bool, biased: bool) -> None:
        name, scale = type(self.projections.score).__name__, self.projections.score.scale
        settings = {"score": name.removesuffix("Score"), "scale": scale, "biased": biased}
        reads = [q, k, *([self._add("bias", "distances", "relative positions", [q])] if biased else [])]
        scored = self._add("scores", "scores", "scores", reads, settings=settings)
        masked = self._add("mask", "mask", "mask", [scored]) if hides else scored
        self.weighed = self._add("weights", "softmax", "softmax: attention weights", [masked])

    def heads(self, v: Spot) -> Spot:
        settings = {"heads": self.projections.H, "head_width": self.projections.J}
        return self._add("heads", "heads", "heads", [self.weighed, v], settings=settings)

    def _add(
        self,
        name: str,
        kind: str,
        title: str,
        reads: list[Spot],
        settings: Mapping[str, object] | None = None,
        memory: Spot | None = None,
        parameters: int = 0,
    ) -> Spot:
        self.names.append(name)
        values = partial(self.values, name)
        return self.drawing.add(
            f"{self.id}.{name}",
            kind,
            title,
            reads,
            values,
            settings=settings,
            memory=memory,
            of=self.of,
            parameters=parameters,
        )

    def values(self, name: str, seen: Seen) -> Iterator[Value]:
        parts = seen.parts(self.id)
        yield from _PICKED[name](parts, self.rows, self.columns)


def _all(steps: _Steps, seen: Seen) -> Iterator[Value]:
    for name in steps.names:
        yield from steps.values(name, seen)
    yield Value("Y", "output", seen.made(steps.id), steps.rows)


def _projected(heads: HeadProjections, name: str) -> int:
    if not heads.project:
        return 0
    maps = _map(heads, name)
    each = (heads.H if name == "q" else heads.G) * heads.K
    return each * (maps.in_features + (maps.bias is not None))


def _map(heads: HeadProjections, name: str) -> Linear:
    """The linear map that makes queries, keys or values."""
    return (heads.q if name == "q" else heads.kv) if heads.crosses else heads.qkv


def _one(x_BHTS: Tensor) -> Tensor:
    return x_BHTS.detach()[0]


def _query(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("Q", "queries", _one(parts.q_BHTK), rows)


def _key(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("K", "keys", _one(parts.k_BGSK), columns)


def _value(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("V", "values", _one(parts.v_BGSV), columns)


def _bias(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    if parts.bias_BHTS is not None:
        bias_HTS = _one(parts.bias_BHTS.expand_as(parts.scores_BHTS))
        yield Value("B", "what the distance adds", bias_HTS, rows, columns)


def _scores(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("S", "scores", _one(parts.scores_BHTS), rows, columns)


def _mask(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("M", "scores, those that are hidden at -∞", _one(parts.masked_BHTS), rows, columns)


def _weights(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    yield Value("A", "attention weights", _one(parts.weights_BHTS), rows, columns)


def _heads(parts: AttentionParts, rows: Axis, columns: Axis) -> Iterator[Value]:
    mixed_HTV = _one(parts.mixed_BHTV)
    yield Value("Z", "what each head found", mixed_HTV, rows)
    yield Value("C", "the heads side by side", mixed_HTV.transpose(0, 1).flatten(1), rows)


_PICKED: dict[str, Callable[[AttentionParts, Axis, Axis], Iterator[Value]]] = {
    "q": _query,
    "k": _key,
    "v": _value,
    "bias": _bias,
    "scores": _scores,
    "mask": _mask,
    "weights": _weights,
    "heads": _heads,
}
