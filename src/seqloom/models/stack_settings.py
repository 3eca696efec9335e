"""Settings of a stack of blocks, and what cannot be built of them."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field

from seqloom.layers.aligned import Aligned
from seqloom.layers.attention import Attention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence
from seqloom.layers.bottleneck import Bottleneck
from seqloom.layers.convolution import Convolution
from seqloom.layers.cross_attention import CrossAttention
from seqloom.layers.dense import Dense
from seqloom.layers.feed_forward import FeedForwardSettings
from seqloom.layers.memory_compressed import MemoryCompressed
from seqloom.layers.mixers import CrossSettings, MixerSettings, NoCross
from seqloom.layers.multi_step_attention import MultiStep
from seqloom.layers.norms import BatchNorm, LayerNorm, NormSettings
from seqloom.layers.positions import NoPositions, PositionsSettings, Sinusoidal
from seqloom.layers.recurrence import Recurrence
from seqloom.settings import Conflicts, Frozen, OneOrMany, impossible

T = TypeVar("T")

Family = Literal["encoder-only", "decoder-only", "encoder-decoder"]


class Residual(Frozen):
    """y = scale · (carry · x + f(x)). ConvS2S has scale = √0.5; DeepNorm has carry > 1."""

    kind: Literal["add"] = "add"
    carry: float = 1.0
    scale: float = 1.0


class NoResidual(Frozen):
    """y = f(x): the input does not go around the layer."""

    kind: Literal["none"] = "none"


ResidualSettings = Annotated[Residual | NoResidual, Field(discriminator="kind")]


def _absolute(value: Any) -> Any:
    """Relative positions are looked for here by many."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind in ("shaw", "music", "t5", "alibi", "rotary"):
        raise impossible(
            f"{kind} positions are relative, and belong to attention: mixer.relative = {{ kind = '{kind}' }}", "kind"
        )
    if kind == "laplacian":
        raise impossible(
            "Laplacian positions are of a graph, and belong to its task: task.positions = { kind = 'laplacian' }",
            "kind",
        )
    return value


class StackSettings(Frozen):
    """A stack of blocks. Where a list is allowed, its entries are the layers, repeated to fill the depth."""

    depth: int = Field(default=6, ge=0)
    mixer: OneOrMany[MixerSettings] = Attention()
    cross: OneOrMany[CrossSettings] | None = Field(
        default=None, description="how a decoder's blocks read the source; unset: attention with the mixer's heads"
    )
    feed_forward: OneOrMany[FeedForwardSettings] = Dense()
    norm: NormSettings = LayerNorm()
    residual: ResidualSettings = Residual()
    positions: Annotated[PositionsSettings, BeforeValidator(_absolute)] = NoPositions()
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of each layer's output, and of the embedding")
    widths: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(
        default=None,
        strict=False,
        description="each block's own width, with linear maps where it changes and at both ends; unset: the model's",
    )
    locked: bool = Field(default=False, description="dropout: the same units at all tokens of a sequence")

    def mixers(self) -> list[MixerSettings]:
        return _each(self.mixer, self.depth)

    def feed_forwards(self) -> list[FeedForwardSettings]:
        return _each(self.feed_forward, self.depth)

    def each_width(self, width: int) -> list[int]:
        """Of each block. width: the model's."""
        return _each(width if self.widths is None else self.widths, self.depth)

    def crosses(self) -> list[CrossSettings]:
        """Each block's way to the source; an attention mixer lends its heads where nothing is said."""
        if self.cross is not None:
            return _each(self.cross, self.depth)
        return [_cross_like(mixer) for mixer in self.mixers()]


def _each(one_or_many: T | tuple[T, ...], depth: int) -> list[T]:
    many = one_or_many if isinstance(one_or_many, tuple) else (one_or_many,)
    return [many[layer % len(many)] for layer in range(depth)]


def _cross_like(mixer: MixerSettings) -> CrossSettings:
    match mixer:
        case Attention() | MemoryCompressed():
            shared = {name: getattr(mixer, name) for name in CrossAttention.model_fields if name != "kind"}
            return CrossAttention(**shared)
        case _:
            return NoCross()


def concatenates(positions: PositionsSettings) -> bool:
    return not isinstance(positions, NoPositions) and positions.join == "concat"


def stack_faults(stack: StackSettings, width: int, name: str, family: Family) -> Conflicts:
    causal = name == "decoder"
    for field in "widths", "mixer", "cross", "feed_forward":
        value = getattr(stack, field)
        if isinstance(value, tuple) and (not value or stack.depth % len(value)):
            yield (field,), f"{field}: a list of {len(value)} layers does not fill a depth of {stack.depth} evenly"
            return
    widths = stack.each_width(width)
    for field, layers in ("mixer", stack.mixers()), ("cross", stack.crosses() if family == "encoder-decoder" else []):
        for layer, settings in enumerate(layers):
            for setting, why in settings.check(widths[layer], causal):
                yield fault_path(stack, field, layer, setting), why
    for layer, feed_forward in enumerate(stack.feed_forwards()):
        for setting, why in feed_forward.check(widths[layer]):
            yield fault_path(stack, "feed_forward", layer, setting), why
    if causal and isinstance(stack.norm, BatchNorm):
        yield (
            ("norm",),
            "batch norm takes its statistics over all steps, the future too: a causal layer must not see it",
        )
    yield from _width_faults(stack, width)
    yield from _position_faults(stack, width)
    yield from _memory_faults(stack, name, family)


def _width_faults(stack: StackSettings, width: int) -> Conflicts:
    if stack.widths is None:
        return
    before = width
    for layer, (own, mixer, cross) in enumerate(
        zip(stack.each_width(width), stack.mixers(), stack.crosses(), strict=True)
    ):
        if _reads_memory(mixer):
            yield fault_path(stack, "mixer", layer, "kind"), "it reads a source of its own width: leave widths out"
        if isinstance(cross, Aligned) and not cross.project and own != width:
            reason = f"a source's state of width {width} needs a map to be read at width {own}"
            yield fault_path(stack, "cross", layer, "project"), reason
        if isinstance(mixer, Convolution) and mixer.depthwise and own != before:
            reason = f"{before} features cannot become {own} each by itself"
            yield fault_path(stack, "mixer", layer, "depthwise"), reason
        before = own


def _reads_memory(mixer: MixerSettings) -> bool:
    return isinstance(mixer, AttentiveRecurrence) or (isinstance(mixer, Recurrence) and mixer.initial != "zeros")


def fault_path(stack: StackSettings, field: str, layer: int, setting: str) -> tuple[str | int, ...]:
    value = getattr(stack, field)
    value, field = (stack.mixer, "mixer") if value is None else (value, field)
    index = (layer % len(value),) if isinstance(value, tuple) else ()
    return (field, *index, *setting.split("."))


def _position_faults(stack: StackSettings, width: int) -> Conflicts:
    positions = stack.positions
    if isinstance(positions, NoPositions):
        return
    if positions.join == "add" and positions.width is not None:
        yield (
            ("positions", "width"),
            "positions that are added have the model's width; set it only with join = 'concat'",
        )
    if positions.join == "concat" and positions.width is None:
        yield ("positions", "join"), "say how much of the model's width positions take: positions.width"
    if positions.join == "concat" and positions.width is not None and positions.width >= width:
        yield (
            ("positions", "width"),
            f"positions would take {positions.width} of {width} and leave nothing for the tokens",
        )
    taken = positions.width or width
    if isinstance(positions, Sinusoidal) and taken % 2:
        yield ("positions",), f"sinusoids come in pairs of sine and cosine, so their width must be even, not {taken}"


def _memory_faults(stack: StackSettings, name: str, family: Family) -> Conflicts:
    if family != "encoder-decoder":
        if stack.cross is not None:
            yield ("cross",), f"a model of family '{family}' has no second sequence to read"
        for layer, mixer in enumerate(stack.mixers()):
            if _reads_memory(mixer):
                yield fault_path(stack, "mixer", layer, "kind"), f"it reads a source, and family '{family}' has none"
    elif name == "decoder" and not stack.depth:
        yield ("depth",), "a decoder without layers never reads the source"
    elif name == "decoder":
        sees = any(isinstance(cross, CrossAttention | MultiStep | Bottleneck | Aligned) for cross in stack.crosses())
        if not sees and not any(_reads_memory(mixer) for mixer in stack.mixers()):
            yield ("cross",), "no layer of the decoder reads the source; set cross, for example { kind = 'attention' }"
