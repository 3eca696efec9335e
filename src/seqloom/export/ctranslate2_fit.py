"""Which models CTranslate2's Transformer can hold, and why others do not fit."""

from collections.abc import Iterator, Sequence

from seqloom.layers.activations import Activation
from seqloom.layers.attention import Attention
from seqloom.layers.cross_attention import CrossAttention
from seqloom.layers.dense import Dense
from seqloom.layers.embedding import InputSettings, Tokens
from seqloom.layers.heads import Heads
from seqloom.layers.mixers import CrossSettings, MixerSettings
from seqloom.layers.norms import LayerNorm, NormSettings, RMSNorm
from seqloom.layers.positions import NoPositions
from seqloom.models.head_settings import TokensOutput
from seqloom.models.settings import ModelSettings
from seqloom.models.stack_settings import Residual, StackSettings

ACTIVATIONS: dict[Activation, str] = {
    "relu": "RELU",
    "gelu": "GELU",
    "gelu-tanh": "GELUTanh",
    "silu": "SWISH",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
}
"""Ours, and what they are called there."""


def misfit(settings: ModelSettings) -> str | None:
    """The first thing that CTranslate2 has no place for; None: it can hold the model."""
    return next(_misfits(settings), None)


def _misfits(settings: ModelSettings) -> Iterator[str]:
    if settings.family != "encoder-decoder":
        yield f"a model of family '{settings.family}'"
        return
    yield from _ends(settings)
    encoder, decoder = settings.side("encoder"), settings.side("decoder")
    yield from _stack(encoder, settings.width, [])
    yield from _stack(decoder, settings.width, decoder.crosses())
    if _epsilon(encoder.norm) != _epsilon(decoder.norm):
        yield "an encoder and a decoder whose norms have two epsilons"


def _epsilon(norm: NormSettings) -> float | None:
    """It is said once for both stacks."""
    return norm.epsilon if isinstance(norm, LayerNorm | RMSNorm) else None


def _ends(settings: ModelSettings) -> Iterator[str]:
    for side in settings.input, settings.decoder_input:
        yield from _input(side)
    if not isinstance(settings.output, TokensOutput):
        yield f"an output of {settings.output.kind}"
    elif settings.output.transform is not None or settings.output.narrow is not None:
        yield "another layer before the scores"
    if settings.unfold is not None:
        yield "an unfolded source"


def _input(side: InputSettings) -> Iterator[str]:
    if type(side) is not Tokens:
        yield f"an input of {side.kind}"
    elif side.segments:
        yield "segments"


def _stack(stack: StackSettings, width: int, crosses: Sequence[CrossSettings]) -> Iterator[str]:
    if stack.widths is not None:
        yield "blocks of their own width"
    if not stack.depth:
        yield "a stack without blocks"
    mixers, inner = stack.mixers(), stack.feed_forwards()
    for mixer in mixers:
        yield from _mixer(mixer, width)
    for cross in crosses:
        if not isinstance(cross, CrossAttention):
            yield f"a source that is read by {cross.kind}"
        else:
            yield from _heads(cross, width)
    if len({one.heads for one in (*mixers, *crosses) if isinstance(one, Heads)}) > 1:
        yield "layers with different numbers of heads"
    for layer in inner:
        if not isinstance(layer, Dense):
            yield f"a feed-forward layer of kind {layer.kind}"
        elif layer.activation not in ACTIVATIONS:
            yield f"the activation {layer.activation}"
    if len({(one.activation, one.gated) for one in inner if isinstance(one, Dense)}) > 1:
        yield "feed-forward layers of several kinds"
    yield from _around(stack)


def _mixer(mixer: MixerSettings, width: int) -> Iterator[str]:
    if not isinstance(mixer, Attention):
        yield f"a mixer of kind {mixer.kind}"
        return
    yield from _heads(mixer, width)
    if mixer.relative is not None:
        yield f"{mixer.relative.kind} positions"
    if mixer.window is not None or mixer.block is not None:
        yield "attention that sees a part only"
    if mixer.output_activation != "identity":
        yield "an activation behind attention"


def _heads(heads: Heads, width: int) -> Iterator[str]:
    if heads.groups != heads.heads:
        yield "heads that share keys"
    if heads.heads * heads.width_of_head(width) != width:
        yield "heads that do not fill the width"
    if heads.score != "scaled-dot":
        yield f"the score {heads.score}"
    if not (heads.project and heads.output) or heads.activation != "identity":
        yield "attention without its linear maps, or with an activation in them"
    if heads.qk_norm:
        yield "norms of queries and keys"


def _around(stack: StackSettings) -> Iterator[str]:
    norm = stack.norm
    if not isinstance(norm, LayerNorm | RMSNorm):
        yield f"norm of kind {norm.kind}"
    elif norm.place == "both":
        yield "norms before and behind a layer"
    elif norm.place == "post" and norm.ends:
        yield "a last norm behind others"
    if not isinstance(stack.residual, Residual) or (stack.residual.carry, stack.residual.scale) != (1.0, 1.0):
        yield "a residual that is not x + f(x)"
    if not isinstance(stack.positions, NoPositions) and stack.positions.join != "add":
        yield "positions beside the token vectors"
