"""A whole model's settings: what its stacks are made of, and what goes in and comes out."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from seqloom.layers.activations import Activation
from seqloom.layers.aligned import Aligned
from seqloom.layers.attention import Attention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence
from seqloom.layers.bottleneck import Bottleneck
from seqloom.layers.convolution import Convolution
from seqloom.layers.cross_attention import CrossAttention
from seqloom.layers.dense import Dense
from seqloom.layers.embedding import InputSettings, Patches, Tokens, Vectors
from seqloom.layers.feed_forward import FeedForwardSettings
from seqloom.layers.images import Images
from seqloom.layers.memory_compressed import MemoryCompressed
from seqloom.layers.mixers import CrossSettings, MixerSettings, NoCross
from seqloom.layers.multi_step_attention import MultiStep
from seqloom.layers.norms import BatchNorm, LayerNorm, NormSettings
from seqloom.layers.positions import NoPositions, PositionsSettings, Sinusoidal
from seqloom.layers.recurrence import Recurrence, begins_apart
from seqloom.settings import Changes, Frozen, OneOrMany, all_impossible, impossible

T = TypeVar("T")

OWN_VECTORS = {"vectors": None, "frozen": False}

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


class TokensOutput(Frozen):
    """A score for each token of the vocabulary, at each position."""

    kind: Literal["tokens"] = "tokens"
    bias: bool = False
    transform: Activation | None = Field(default=None, description="one more layer and norm before the scores (BERT)")
    scale: bool = Field(default=False, description="times 1/√width before the scores (T5, tied)")
    narrow: int | None = Field(default=None, ge=1, description="a map to this width before the scores; unset: none")
    follows: bool = Field(
        default=False, description="also two scores of the whole: whether its second segment follows its first (BERT)"
    )


class TagsOutput(Frozen):
    """A score for each tag, at each position."""

    kind: Literal["tags"] = "tags"


Pool = Literal["mean", "max", "first", "last", "attention"]


class ClassesOutput(Frozen):
    """A score for each class, one for the whole sequence."""

    kind: Literal["classes"] = "classes"
    pool: OneOrMany[Pool] = Field(
        default="mean",
        description="how the states of all steps become one vector; a list: several, side by side. Of a recurrence in "
        "both directions ['first', 'last'] are its two last states",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of that vector (Kim 2014)")

    @property
    def pools(self) -> tuple[Pool, ...]:
        return self.pool if isinstance(self.pool, tuple) else (self.pool,)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.pools or len(set(self.pools)) < len(self.pools):
            raise impossible("a list of pools needs one or more, none of them twice", "pool")
        return self


class NumbersOutput(Frozen):
    """Real numbers at each position; with quantiles, as many of each number."""

    kind: Literal["numbers"] = "numbers"
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()


class HorizonOutput(Frozen):
    """Numbers of the steps that come behind the sequence, all at once: the mean of each, and the quantiles named.

    pool: how the sequence's states become one vector. flat: all of them side by side, as many as there always are
    (Nie et al. 2023, section 3.1).
    """

    kind: Literal["horizon"] = "horizon"
    pool: Literal["flat", "last", "mean"] = "flat"
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(default=(), strict=False)
    dropout: float = Field(default=0.0, ge=0, lt=1, description="before the last map")

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if list(self.quantiles) != sorted(set(self.quantiles)):
            raise impossible("the levels of quantiles must rise, each once, such as [0.1, 0.5, 0.9]", "quantiles")
        return self

    @property
    def each(self) -> int:
        """Numbers for each value: its mean, then its quantiles."""
        return 1 + len(self.quantiles)


class Unfold(Frozen):
    """A source of n steps gets times · n + more: a decoder that stands on its encoder then has what to stand on.

    Kalchbrenner et al. 2016, section 3.2 (dynamic unfolding). The steps that are added are empty. An answer may go on
    behind them, and reads nothing there.
    """

    times: float = Field(default=1.2, ge=1)
    more: int = Field(default=0, ge=0)


OutputSettings = Annotated[
    TokensOutput | TagsOutput | ClassesOutput | NumbersOutput | HorizonOutput, Field(discriminator="kind")
]


def _absolute(value: Any) -> Any:
    """Relative positions are looked for here by many."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind in ("shaw", "music", "t5", "alibi", "rotary"):
        raise impossible(
            f"{kind} positions are relative, and belong to attention: mixer.relative = {{ kind = '{kind}' }}", "kind"
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


class ModelSettings(StackSettings):
    """What stands at the top holds for both stacks; [model.encoder] and [model.decoder] change it for one."""

    family: Family = "encoder-decoder"
    width: int = Field(default=512, ge=1)
    input: InputSettings = Tokens()
    target_input: InputSettings | None = Field(
        default=None, description="what a decoder reads back; unset: as the input, or vectors where it writes numbers"
    )
    output: OutputSettings = TokensOutput()
    tie: Literal["none", "inputs", "output", "all"] = Field(
        default="none",
        description="inputs: source and target share token vectors; output: the vectors of what is written are also "
        "the output's weights; all: both",
    )
    unfold: Unfold | None = Field(default=None, description="lengthen the source before the encoder (ByteNet)")
    encoder: Changes[StackSettings] = StackSettings()
    decoder: Changes[StackSettings] = StackSettings()

    def side(self, name: Literal["encoder", "decoder"]) -> StackSettings:
        """One stack's settings: the shared ones, and on top what was set for it."""
        changes: StackSettings = getattr(self, name)
        values = {field: getattr(self, field) for field in StackSettings.model_fields}
        values |= {field: getattr(changes, field) for field in changes.model_fields_set}
        return StackSettings.model_construct(**values)

    @property
    def decoder_input(self) -> InputSettings:
        if self.target_input is not None:
            return self.target_input
        if isinstance(self.output, NumbersOutput):
            return self.input if isinstance(self.input, Vectors) else Vectors()
        # a file of the source's words is not for the target's, unless both share their vectors
        if isinstance(self.input, Tokens) and self.tie in ("inputs", "all"):
            return self.input
        return self.input.model_copy(update=OWN_VECTORS) if isinstance(self.input, Tokens) else Tokens()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        faults: dict[tuple[str | int, ...], str] = {}
        for path, why in self._faults():
            faults.setdefault(path, why)
        if faults:
            raise all_impossible(list(faults.items()))
        return self

    def _faults(self) -> "Iterator[tuple[tuple[str | int, ...], str]]":
        for name in ("encoder", "decoder"):
            if name in self.family:
                for path, why in _stack_faults(self.side(name), self.width, name, self.family):
                    changed = path[0] in getattr(self, name).model_fields_set
                    yield ((name, *path) if changed else path), why
            elif getattr(self, name).model_fields_set:
                yield (name,), f"a model of family '{self.family}' has no {name}"
        yield from self._begins()
        yield from self._ends()

    def _begins(self) -> "Iterator[tuple[tuple[str | int, ...], str]]":
        """Decoder layers that begin where the encoder's ended must be like them."""
        encoder, decoder = self.side("encoder"), self.side("decoder")
        if any(stack.mixer == () for stack in (encoder, decoder)):
            return
        changed = ("decoder",) if "mixer" in self.decoder.model_fields_set else ()
        for block, mixer in enumerate(decoder.mixers() if self.family == "encoder-decoder" else []):
            if isinstance(mixer, Recurrence | AttentiveRecurrence) and mixer.initial == "layers":
                other = encoder.mixers()[block] if block < encoder.depth else None
                for why in begins_apart(mixer, other, self.width):
                    yield (*changed, *_path(decoder, "mixer", block, "initial")), why

    def _ends(self) -> "Iterator[tuple[tuple[str | int, ...], str]]":
        written = isinstance(self.output, TokensOutput)
        if self.tie != "none" and not written:
            yield ("tie",), f"an output of {self.output.kind} has no token vectors to share"
        if self.tie == "inputs" and self.family != "encoder-decoder":
            yield ("tie",), f"a model of family '{self.family}' has one input only; use tie = 'output'"
        if self.tie in ("inputs", "all") and self.family == "encoder-decoder" and not isinstance(self.input, Tokens):
            yield ("tie",), f"an input of {self.input.kind} has no token vectors to share; use tie = 'output'"
        if self.tie != "none" and self.family != "encoder-decoder" and not isinstance(self.input, Tokens):
            yield ("tie",), f"an input of {self.input.kind} has no token vectors to share"
        if self.tie != "none" and self.family == "encoder-decoder" and not isinstance(self.decoder_input, Tokens):
            yield ("tie",), f"what is read back are {self.decoder_input.kind}, which have no token vectors to share"
        for name in ("encoder", "decoder"):
            narrow = name in self.family and concatenates(self.side(name).positions)
            if (
                narrow
                and self.tie != "none"
                and (self.tie != "output" or self.family != "encoder-decoder" or name == "decoder")
            ):
                yield ("tie",), "with concatenated positions token vectors are narrower than the output: not shareable"
        for name, side in ("input", self.input), ("target_input", self.target_input):
            reads_back = self.family == "decoder-only" or name == "target_input"
            if isinstance(side, Patches | Images) and reads_back:
                yield (name,), "a decoder goes step by step, and half a patch cannot be read; use vectors"
        if isinstance(self.input, Tokens) and self.input.segments and self.family == "decoder-only":
            yield ("input", "segments"), "segments are of what an encoder reads"
        if isinstance(self.output, TokensOutput) and self.output.follows and self.family != "encoder-only":
            yield ("output", "follows"), "what follows is read off an encoder: use family = 'encoder-only'"
        if "cross" in self.encoder.model_fields_set:
            yield ("encoder", "cross"), "an encoder reads no other sequence; set it in [model.decoder]"
        if written and self.tie in ("output", "all") and getattr(self.output, "narrow", None) is not None:
            yield ("tie",), "token vectors have the model's width, and output.narrow is another: not shareable"
        if self.family != "encoder-decoder" and self.unfold is not None:
            yield ("unfold",), f"a model of family '{self.family}' has no decoder that stands on an encoder"
        if self.family != "encoder-decoder" and self.target_input is not None:
            yield ("target_input",), f"a model of family '{self.family}' reads one sequence only"
        if isinstance(self.output, HorizonOutput) and self.family != "encoder-only":
            yield ("output",), "a horizon is read off an encoder: use family = 'encoder-only'"
        if self.family == "encoder-decoder" and isinstance(self.output, TagsOutput | ClassesOutput):
            yield ("output",), f"{self.output.kind} are read off an encoder: use family = 'encoder-only'"


def concatenates(positions: PositionsSettings) -> bool:
    return not isinstance(positions, NoPositions) and positions.join == "concat"


def _stack_faults(
    stack: StackSettings, width: int, name: str, family: Family
) -> "Iterator[tuple[tuple[str | int, ...], str]]":
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
                yield _path(stack, field, layer, setting), why
    for layer, feed_forward in enumerate(stack.feed_forwards()):
        for setting, why in feed_forward.check(widths[layer]):
            yield _path(stack, "feed_forward", layer, setting), why
    if causal and isinstance(stack.norm, BatchNorm):
        yield (
            ("norm",),
            "batch norm takes its statistics over all steps, the future too: a causal layer must not see it",
        )
    yield from _width_faults(stack, width)
    yield from _position_faults(stack, width)
    yield from _memory_faults(stack, name, family)


def _width_faults(stack: StackSettings, width: int) -> "Iterator[tuple[tuple[str | int, ...], str]]":
    if stack.widths is None:
        return
    before = width
    for layer, (own, mixer, cross) in enumerate(
        zip(stack.each_width(width), stack.mixers(), stack.crosses(), strict=True)
    ):
        if _reads_memory(mixer):
            yield _path(stack, "mixer", layer, "kind"), "it reads a source of its own width: leave widths out"
        if isinstance(cross, Aligned) and not cross.project and own != width:
            reason = f"a source's state of width {width} needs a map to be read at width {own}"
            yield _path(stack, "cross", layer, "project"), reason
        if isinstance(mixer, Convolution) and mixer.depthwise and own != before:
            reason = f"{before} features cannot become {own} each by itself"
            yield _path(stack, "mixer", layer, "depthwise"), reason
        before = own


def _reads_memory(mixer: MixerSettings) -> bool:
    return isinstance(mixer, AttentiveRecurrence) or (isinstance(mixer, Recurrence) and mixer.initial != "zeros")


def _path(stack: StackSettings, field: str, layer: int, setting: str) -> tuple[str | int, ...]:
    value = getattr(stack, field)
    value, field = (stack.mixer, "mixer") if value is None else (value, field)
    index = (layer % len(value),) if isinstance(value, tuple) else ()
    return (field, *index, *setting.split("."))


def _position_faults(stack: StackSettings, width: int) -> "Iterator[tuple[tuple[str | int, ...], str]]":
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


def _memory_faults(stack: StackSettings, name: str, family: Family) -> "Iterator[tuple[tuple[str | int, ...], str]]":
    if family != "encoder-decoder":
        if stack.cross is not None:
            yield ("cross",), f"a model of family '{family}' has no second sequence to read"
        for layer, mixer in enumerate(stack.mixers()):
            if _reads_memory(mixer):
                yield _path(stack, "mixer", layer, "kind"), f"it reads a source, and family '{family}' has none"
    elif name == "decoder" and not stack.depth:
        yield ("depth",), "a decoder without layers never reads the source"
    elif name == "decoder":
        sees = any(isinstance(cross, CrossAttention | MultiStep | Bottleneck | Aligned) for cross in stack.crosses())
        if not sees and not any(_reads_memory(mixer) for mixer in stack.mixers()):
            yield ("cross",), "no layer of the decoder reads the source; set cross, for example { kind = 'attention' }"
