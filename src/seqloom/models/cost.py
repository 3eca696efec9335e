"""What a model costs, from its settings alone: parameters, and FLOPs for each token of training."""

from dataclasses import replace
from typing import assert_never

from seqloom.layers.attention import Attention
from seqloom.layers.convolution import Convolution
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.embedding import WORD, InputSettings, Patches, Spelled, positions_of
from seqloom.layers.images import Images
from seqloom.layers.norms import NoNorm, norm_parameters
from seqloom.layers.positions import T5, Learned, NoPositions
from seqloom.models.head_settings import ClassesOutput, HorizonOutput, NumbersOutput, TagsOutput, TokensOutput
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import StackSettings


def model_cost(
    settings: ModelSettings, sizes: Sizes, length: float = 27, source_length: float | None = None, asked: float = 1.0
) -> Cost:
    """Parameters, and the forward pass's FLOPs for each token that is written (or read, if nothing is written).

    length         of the written (or only) sequence, on average; attention grows with it
    source_length  of the source; unset: as long. Its share of the encoder's work is counted with each written token.
    asked          the share of positions that have an output; the others are read only

    Attention counts a full square of scores, causal or not, as the papers do.
    """
    width, each = settings.width, 1.0
    source_length = (length if source_length is None else source_length) / tokens_of_a_step(settings.input)
    match settings.family:
        case "encoder-only" | "decoder-only":
            causal = settings.family == "decoder-only"
            each = tokens_of_a_step(settings.input)
            side, use = settings.side("decoder" if causal else "encoder"), Use(causal=causal, length=length / each)
            body = (_stack(side, width, use) + _input(settings.input, side, sizes.source, width)).times(1 / each)
            vectors = sizes.source
        case "encoder-decoder":
            ratio = source_length / length
            encoder, decoder = settings.side("encoder"), settings.side("decoder")
            if settings.unfold is not None:
                source_length = settings.unfold.times * source_length + settings.unfold.more
            read, ratio = ratio, source_length / length
            source = _stack(encoder, width, Use(causal=False, length=source_length)).times(ratio)
            source += _input(settings.input, encoder, sizes.source, width).times(read)
            use = Use(causal=True, length=length, memory=source_length, ratio=ratio)
            body = source + _stack(decoder, width, use, crosses=True)
            body += _input(settings.decoder_input, decoder, sizes.target, width)
            if settings.tie in ("inputs", "all"):
                body += Cost(-sizes.target * width)
            vectors = sizes.target
        case _:
            assert_never(settings.family)
    tied = Cost(-vectors * width) if settings.tie in ("output", "all") else Cost()
    return body + _head(settings, sizes).times(asked / each) + tied


def tokens_of_a_step(settings: InputSettings) -> float:
    """Several make one step of the stack where they are joined to patches or words."""
    match settings:
        case Patches():
            return settings.every
        case Images():
            return settings.numbers
        case Spelled():
            return WORD
        case _:
            return 1


def training_flops(cost: Cost) -> float:
    """Forward and backward, for each token."""
    return 3 * cost.flops


def _stack(stack: StackSettings, width: int, use: Use, crosses: bool = False) -> Cost:
    total, seen, before = Cost(), set[tuple[T5, int]](), width
    for own, mixer, cross, forward in zip(
        stack.each_width(width), stack.mixers(), stack.crosses(), stack.feed_forwards(), strict=True
    ):
        use = replace(use, memory_width=width, inputs=before)
        parts = [mixer.cost(own, use)]
        parts += [cross.cost(own, use)] if crosses and cross.kind != "none" else []
        parts += [forward.cost(own)] if forward.kind != "none" else []
        around = norm_parameters(stack.norm, own) * (2 if stack.norm.place == "both" else 1)
        for part in parts:
            total += part + Cost(around)
        if own != before:
            total += linear(before, own, bias=True)
            if isinstance(mixer, Convolution) and stack.norm.place != "post":  # which reads, and norms, another width
                total += Cost(norm_parameters(stack.norm, before) - norm_parameters(stack.norm, own))
        before = own
        if isinstance(mixer, Attention) and isinstance(mixer.relative, T5) and mixer.relative.shared:
            key = mixer.relative, mixer.heads
            total += Cost(-mixer.relative.parameters(mixer.heads, 0) if key in seen else 0)
            seen.add(key)
    total += Cost(norm_parameters(stack.norm, before) if stack.norm.ends else 0)
    return total if before == width else total + linear(before, width, bias=True)


def _input(settings: InputSettings, stack: StackSettings, size: int, width: int) -> Cost:
    positions = stack.positions
    taken = 0 if isinstance(positions, NoPositions) or positions.width is None else positions.width
    learned = positions.length * (taken or width) if isinstance(positions, Learned) else 0
    norm = norm_parameters(stack.norm, width) if settings.norm and not isinstance(stack.norm, NoNorm) else 0
    return settings.cost(size, width - taken) + Cost(learned + norm)


def _head(settings: ModelSettings, sizes: Sizes) -> Cost:
    width, output, size = settings.width, settings.output, sizes.target
    side = settings.side("encoder" if settings.family == "encoder-only" else "decoder")
    match output:
        case TokensOutput():
            cost = linear(output.narrow or width, size, output.bias)
            cost += Cost() if output.narrow is None else linear(width, output.narrow, bias=True)
            if output.transform is not None:
                cost += linear(width, width, bias=True) + Cost(norm_parameters(side.norm, width))
            if output.follows:  # once for a sequence
                cost += Cost(linear(width, width, bias=True).parameters + linear(width, 2, bias=True).parameters)
            return cost
        case TagsOutput():
            # a chain multiplies nothing: its sums and exponentials are not counted
            links = Cost(size * (size + 2)) if output.chain else Cost()
            return linear(width, size, bias=True) + links
        case ClassesOutput():
            # once for a sequence, which is counted as nothing for a token
            pool = Cost(width, 4 * width) if "attention" in output.pools else Cost()
            return pool + Cost(linear(width * len(output.pools), size, bias=True).parameters)
        case NumbersOutput():
            return linear(width, size * max(len(output.quantiles), 1), bias=True)
        case HorizonOutput():
            # once for a sequence, shared among its steps
            return _horizon(output, width, size, positions_of(settings.input, sizes.steps)).times(
                tokens_of_a_step(settings.input) / max(sizes.steps, 1)
            )
        case _:
            assert_never(output)


def _horizon(output: HorizonOutput, width: int, size: int, positions: int) -> Cost:
    """Of one sequence."""
    match output.pool:
        case "flat":
            return linear(width * positions, size * output.each, bias=True)
        case "patches":
            count = output.patches(size)
            each = linear(width, output.patch * output.each, bias=True)
            return linear(positions, count, bias=True).times(width) + each.times(count)
        case "last" | "mean":
            return linear(width, size * output.each, bias=True)
