"""Norms, linear maps and sums: what stands between the layers."""

from collections.abc import Iterator

from torch import nn

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value, row_of
from seqloom.layers.norms import BatchNormalisation, LayerNormalisation, NoNormalisation, Norm, sum_of
from seqloom.models.stack_settings import Residual


def draw_norm(
    drawing: Drawing, id: str, norm: nn.Module | None, read: Spot, axis: Axis | None, of: str | None = None
) -> Spot:
    """What comes out of it; where there is none, what goes in."""
    if norm is None or isinstance(norm, NoNormalisation):
        return read
    assert isinstance(norm, Norm)
    kind = type(norm).__name__.removesuffix("Normalisation").lower()
    title = {"layer": "layer norm", "rms": "RMS norm", "batch": "batch norm"}[kind]

    def values(seen: Seen) -> Iterator[Value]:
        x_TD = seen.read(id)
        yield Value("x", "what goes in", x_TD, axis)
        if isinstance(norm, BatchNormalisation):
            yield Value("μ", "mean of each feature, in training", row_of(norm.mean_D.detach()))
            yield Value("σ", "deviation of each feature, in training", row_of(norm.variance_D.detach().sqrt()))
        else:
            if isinstance(norm, LayerNormalisation):
                yield Value("μ", "mean of each row", x_TD.mean(-1, keepdim=True), axis)
                x_TD = x_TD - x_TD.mean(-1, keepdim=True)
            spread_T1 = (x_TD.square().mean(-1, keepdim=True) + norm.epsilon).sqrt()
            yield Value("σ", "deviation of each row" if kind == "layer" else "root mean square", spread_T1, axis)
        for name, title, vector in ("g", "gain", norm.gain_D), ("b", "bias", norm.bias_D):
            if vector is not None:
                yield Value(name, title, row_of(vector.detach()))
        yield Value("y", "what comes out", seen.made(id), axis)

    settings = {"kind": kind, "epsilon": norm.epsilon, "gain": norm.gain_D is not None, "bias": norm.bias_D is not None}
    return drawing.add(id, "norm", title, [read], values, parameters=count(norm), settings=settings, of=of)


def draw_map(
    drawing: Drawing, id: str, linear: nn.Module, read: Spot, axis: Axis | None, of: str | None = None
) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes in", seen.read(id), axis)
        yield Value("y", "what comes out", seen.made(id), axis)

    return drawing.add(id, "map", "linear map", [read], values, parameters=count(linear), of=of)


def draw_sum(
    drawing: Drawing, id: str, x: Spot, y: Spot, axis: Axis | None, residual: Residual | None = None, title: str = "add"
) -> Spot:
    """x goes around y's layer, if residual says how; else both are added as they are."""
    carry, scale = (1.0, 1.0) if residual is None else (residual.carry, residual.scale)

    def values(seen: Seen) -> Iterator[Value]:
        x_TD, y_TD = x.made(seen), y.made(seen)
        yield Value("x", "what went around", x_TD, axis)
        yield Value("y", "what the layer made", y_TD, axis)
        yield Value("s", "their sum", sum_of(x_TD, y_TD, carry, scale, 0.0), axis)

    settings = {"carry": carry, "scale": scale}
    if residual is None:
        return drawing.add(id, "add", title, [x, y], values, settings=settings)
    return drawing.add(id, "add", title, [y], values, settings=settings, residual=x)
