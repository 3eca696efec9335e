"""What a model costs, from its settings alone: parameters, and FLOPs for each token of training."""

from typing import assert_never

from seqloom.layers.attention import Attention
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.embedding import InputSettings
from seqloom.layers.norms import NoNorm, norm_parameters
from seqloom.layers.positions import T5, Learned, NoPositions
from seqloom.models.settings import ClassesOutput, ModelSettings, NumbersOutput, StackSettings, TagsOutput, TokensOutput
from seqloom.models.sizes import Sizes


def model_cost(settings: ModelSettings, sizes: Sizes, length: float = 27, source_length: float | None = None) -> Cost:
    """Parameters, and the forward pass's FLOPs for each token that is written (or read, if nothing is written).

    length         of the written (or only) sequence, on average; attention grows with it
    source_length  of the source; unset: as long. Its share of the encoder's work is counted with each written token.

    Attention counts a full square of scores, causal or not, as the papers do.
    """
    width = settings.width
    source_length = length if source_length is None else source_length
    match settings.family:
        case "encoder-only" | "decoder-only":
            causal = settings.family == "decoder-only"
            side, use = settings.side("decoder" if causal else "encoder"), Use(causal=causal, length=length)
            body = _stack(side, width, use) + _input(settings.input, side, sizes.source, width)
            vectors = sizes.source
        case "encoder-decoder":
            ratio = source_length / length
            encoder, decoder = settings.side("encoder"), settings.side("decoder")
            source = _stack(encoder, width, Use(causal=False, length=source_length))
            source += _input(settings.input, encoder, sizes.source, width)
            use = Use(causal=True, length=length, memory=source_length, ratio=ratio)
            body = source.times(ratio) + _stack(decoder, width, use, crosses=True)
            body += _input(settings.decoder_input, decoder, sizes.target, width)
            if settings.tie in ("inputs", "all"):
                body += Cost(-sizes.target * width)
            vectors = sizes.target
        case _:
            assert_never(settings.family)
    tied = Cost(-vectors * width) if settings.tie in ("output", "all") else Cost()
    return body + _head(settings, sizes.target) + tied


def training_flops(cost: Cost) -> float:
    """Forward and backward, for each token."""
    return 3 * cost.flops


def _stack(stack: StackSettings, width: int, use: Use, crosses: bool = False) -> Cost:
    total, seen = Cost(norm_parameters(stack.norm, width) if stack.norm.ends else 0), set[tuple[T5, int]]()
    around = norm_parameters(stack.norm, width) * (2 if stack.norm.place == "both" else 1)
    for mixer, cross, forward in zip(stack.mixers(), stack.crosses(), stack.feed_forwards(), strict=True):
        parts = [mixer.cost(width, use)]
        parts += [cross.cost(width, use)] if crosses and cross.kind != "none" else []
        parts += [forward.cost(width)] if forward.kind != "none" else []
        for part in parts:
            total += part + Cost(around)
        if isinstance(mixer, Attention) and isinstance(mixer.relative, T5) and mixer.relative.shared:
            key = mixer.relative, mixer.heads
            total += Cost(-mixer.relative.parameters(mixer.heads, 0) if key in seen else 0)
            seen.add(key)
    return total


def _input(settings: InputSettings, stack: StackSettings, size: int, width: int) -> Cost:
    positions = stack.positions
    taken = 0 if isinstance(positions, NoPositions) or positions.width is None else positions.width
    learned = positions.length * (taken or width) if isinstance(positions, Learned) else 0
    norm = norm_parameters(stack.norm, width) if settings.norm and not isinstance(stack.norm, NoNorm) else 0
    return settings.cost(size, width - taken) + Cost(learned + norm)


def _head(settings: ModelSettings, size: int) -> Cost:
    width, output = settings.width, settings.output
    side = settings.side("encoder" if settings.family == "encoder-only" else "decoder")
    match output:
        case TokensOutput():
            cost = linear(width, size, output.bias)
            if output.transform is not None:
                cost += linear(width, width, bias=True) + Cost(norm_parameters(side.norm, width))
            if output.follows:  # once for a sequence
                cost += Cost(linear(width, width, bias=True).parameters + linear(width, 2, bias=True).parameters)
            return cost
        case TagsOutput():
            return linear(width, size, bias=True)
        case ClassesOutput():
            # once for a sequence, which is counted as nothing for a token
            pool = Cost(width, 4 * width) if output.pool == "attention" else Cost()
            return pool + Cost(linear(width, size, bias=True).parameters)
        case NumbersOutput():
            return linear(width, size * max(len(output.quantiles), 1), bias=True)
        case _:
            assert_never(output)
