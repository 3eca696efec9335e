"""The learnt matrices of a box, of models so small that they can be copied to a blackboard."""
# H query heads  G key heads  K head width  D width  V vocabulary

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from seqloom.inspect.drawing import Box
from seqloom.inspect.values import Value, row_of
from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.feed_forward import FeedForward
from seqloom.layers.heads import HeadProjections
from seqloom.models.build import Model
from seqloom.models.heads import TokenHead

MOST = 160
"""Numbers of a matrix: larger ones are not for reading."""


def learnt(model: Model, box: Box) -> tuple[Value, ...]:
    """W, and b where there is one, so that a row of what goes in times a column of W is what comes out."""
    found = tuple(_values(model, box))
    return found if all(value.matrix.numel() <= MOST for value in found) else ()


def _values(model: Model, box: Box) -> Iterator[Value]:
    layer = _layer(model, box)
    match box.kind, getattr(layer, "heads", None), layer:
        case (("queries" | "keys" | "values"), HeadProjections() as heads, _) if heads.project:
            yield from _mapped(*_into_heads(heads, box.kind))
        case (("attention" | "cross-attention"), HeadProjections(out=nn.Linear() as out), _):
            yield from _mapped(out.weight, out.bias)
        case (("hidden" | "feed-forward"), _, FeedForward(layer=DenseFeedForward() as dense)):
            linear = dense.inputs if box.kind == "hidden" else dense.out
            yield from _mapped(linear.weight, linear.bias)
        case "logits", _, TokenHead(transform=None, narrow=None, factor=1.0) as head:
            weight = Value("W", "learnt matrix", head.weight_VD.detach().T, columns="vocabulary")
            yield from [weight, *_bias(head.bias_V)]


def _layer(model: Model, box: Box) -> Any:
    """The module of a box, or of the box that it is a step within."""
    try:
        return model.get_submodule(box.of or box.id)
    except AttributeError:
        return None


def _into_heads(heads: HeadProjections, kind: str) -> tuple[Tensor, Tensor | None]:
    """A matrix and a bias for each head: the rows of the one big matrix that are theirs."""
    H, G, K = heads.H, heads.G, heads.K
    if heads.crosses:
        linear = heads.q if kind == "queries" else heads.kv
        first, count = {"queries": (0, H), "keys": (0, G), "values": (G, G)}[kind]
    else:
        linear = heads.qkv
        first, count = {"queries": (0, H), "keys": (H, G), "values": (H + G, G)}[kind]
    part = slice(first * K, (first + count) * K)
    bias: Tensor | None = linear.bias
    return linear.weight[part].view(count, K, -1), None if bias is None else bias[part].view(count, 1, K)


def _mapped(weight: Tensor, bias: Tensor | None) -> Iterator[Value]:
    yield Value("W", "learnt matrix", weight.detach().transpose(-1, -2))
    yield from _bias(bias)


def _bias(bias: Tensor | None) -> Iterator[Value]:
    if bias is not None:
        yield Value("b", "learnt bias", row_of(bias.detach()))
