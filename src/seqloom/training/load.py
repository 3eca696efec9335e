"""What one step of training asks of a machine, from the settings alone; `pace.py` says how long that takes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from seqloom.layers.attention import Attention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence
from seqloom.layers.convolution import Convolution
from seqloom.layers.dense import Dense
from seqloom.layers.embedding import Tokens
from seqloom.layers.feed_forward import FeedForwardSettings
from seqloom.layers.mixers import MixerSettings
from seqloom.layers.recurrence import Recurrence
from seqloom.layers.recurrent_cell import GATES
from seqloom.models.cost import model_cost, tokens_of_a_step
from seqloom.models.head_settings import TokensOutput
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack_settings import StackSettings
from seqloom.training.optimisers import Adam, Muon, OptimiserSettings

NEARLY_NONE = 1e-6  # a length at which attention costs nothing
BOTH_WAYS = 3  # forward, and twice as much back
ADAM = Adam()
Key = TypeVar("Key")


@dataclass(frozen=True)
class Load:
    """products: FLOPs of matrix products, by the rows and the width that they have.

    traffic     numbers that sums, norms and activations read and write
    attention   FLOPs of attention's scores and of what they weigh, by the length that is looked over
    dropped     numbers that pass a dropout
    scored      tokens times the entries of the vocabulary
    update      FLOPs of an optimiser that multiplies matrices
    parts       layers, each of which is some calls, however small
    mixed       numbers that pass a mixer of each kind, of recurrent ones their gates; and the steps that follow each
                other, and what additive scores look at
    """

    products: Mapping[tuple[float, int], float]
    attention: Mapping[float, float]
    traffic: float
    dropped: float
    scored: float
    parts: float
    parameters: float
    update: float
    mixed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lengths:
    """Of a batch. tokens: that are written, or read where none is. asked: the share of them that has an output."""

    tokens: float
    length: float
    source: float | None = None
    asked: float = 1.0

    @property
    def source_length(self) -> float:
        return self.length if self.source is None else self.source


def load_of(settings: ModelSettings, sizes: Sizes, batch: Lengths, optimiser: OptimiserSettings = ADAM) -> Load:
    """A step over a batch: forward, backward, update."""
    ratio = batch.source_length / batch.length
    cost = model_cost(settings, sizes, batch.length, batch.source_length, batch.asked)
    without = model_cost(settings, sizes, NEARLY_NONE, NEARLY_NONE * ratio, batch.asked)
    linear = BOTH_WAYS * without.flops * batch.tokens
    layers = list(_layers(settings, batch))
    moved = [each for layer in layers for each in layer.moved()]
    left = max(linear - sum(flops for _, flops in moved), 0.0)
    products = _sum((((batch.tokens, settings.width), left), *moved))
    numbers = sum(layer.tokens * layer.width * layer.sublayers for layer in layers)
    return Load(
        products=products,
        attention={batch.length: BOTH_WAYS * (cost.flops - without.flops) * batch.tokens},
        traffic=8 * numbers + sum(layer.inner for layer in layers),
        dropped=numbers if settings.dropout else 0.0,
        scored=batch.tokens * batch.asked * sizes.target if isinstance(settings.output, TokensOutput) else 0.0,
        parts=sum(layer.sublayers for layer in layers),
        parameters=cost.parameters,
        update=sum(_update(settings, optimiser)),
        mixed=_sum(each for layer in layers for each in layer.mixed()),
    )


@dataclass(frozen=True)
class _Layer:
    mixer: MixerSettings
    width: int
    hidden: int
    sublayers: int
    tokens: float
    length: float
    source: float

    @property
    def inner(self) -> float:
        """Numbers that are read and written inside of its parts."""
        turned = 0
        if isinstance(self.mixer, Attention):  # queries and keys, once more each
            turned = 4 * self.width * ((self.mixer.relative is not None) + self.mixer.qk_norm)
        return self.tokens * (3 * self.hidden + turned)

    @property
    def cells(self) -> list[int]:
        """The width of each recurrent cell: one for each recurrent layer and direction."""
        match self.mixer:
            case Recurrence():
                ways = [2 if way in ("both", "interleaved") else 1 for way in self.mixer.directions()]
            case AttentiveRecurrence():
                ways = [1] * self.mixer.depth
            case _:
                return []
        return [self.mixer.hidden_width(self.width, at) for at, count in enumerate(ways) for _ in range(count)]

    def mixed(self) -> Iterator[tuple[str, float]]:
        mixer = self.mixer
        if isinstance(mixer, Attention):
            return
        yield f"{mixer.kind} layers", 1.0
        match mixer:
            case Recurrence() | AttentiveRecurrence():
                yield from self._stepped(mixer)
            case Convolution():
                yield mixer.kind, self.tokens * self.width * (mixer.kernel + (3 if mixer.gated else 1))
                if mixer.weight_norm:
                    yield "normed weights", mixer.kernel * self.width**2 * (2 if mixer.gated else 1)
            case _:
                yield mixer.kind, self.tokens * self.width

    def _stepped(self, mixer: Recurrence | AttentiveRecurrence) -> Iterator[tuple[str, float]]:
        """Cells that are called step by step, and those that go through all steps in one call."""
        called = 0
        if isinstance(mixer, AttentiveRecurrence):
            if mixer.feeds:
                called = 1 if mixer.form == "bahdanau" and mixer.asks == "bottom" else len(self.cells)
                yield "looks back", self.length
            if mixer.attention.score == "additive":
                yield "additive scores", self.tokens * self.source * self.width
        for kind, cells in (mixer.kind, self.cells[:called]), ("recurrence", self.cells[called:]):
            yield f"{kind} steps", self.length * len(cells)
            yield kind, self.tokens * GATES[mixer.cell] * sum(cells)

    def moved(self) -> Iterator[tuple[tuple[float, int], float]]:
        """Products of a recurrent step, which have as many rows as the batch has sequences; by each cell's width."""
        match self.mixer:
            case Recurrence() | AttentiveRecurrence() as mixer:
                rows = max(1.0, self.tokens / self.length)
                for hidden in self.cells:
                    # from the state to the gates; and from them to a state of the layer's width
                    out, projected = (self.width, hidden * self.width) if mixer.projection else (hidden, 0)
                    numbers = GATES[mixer.cell] * hidden * out + projected
                    yield (rows, hidden), BOTH_WAYS * 2 * numbers * self.tokens
            case _:
                return


def _layers(settings: ModelSettings, batch: Lengths) -> Iterator[_Layer]:
    for side, tokens, length, crosses in _sides(settings, batch):
        each = zip(side.each_width(settings.width), side.mixers(), side.crosses(), side.feed_forwards(), strict=True)
        for width, mixer, cross, forward in each:
            sublayers = 1 + (forward.kind != "none") + (crosses and cross.kind != "none")
            yield _Layer(mixer, width, _hidden(forward, width), sublayers, tokens, length, batch.source_length)


def _sum(parts: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for key, value in parts:
        found[key] = found.get(key, 0.0) + value
    return found


def _sides(settings: ModelSettings, batch: Lengths) -> Iterator[tuple[StackSettings, float, float, bool]]:
    """Each stack, the steps that pass it, their length, and whether it reads a memory."""
    each = tokens_of_a_step(settings.input)
    match settings.family:
        case "encoder-only":
            yield settings.side("encoder"), batch.tokens / each, batch.length / each, False
        case "decoder-only":
            yield settings.side("decoder"), batch.tokens / each, batch.length / each, False
        case "encoder-decoder":
            read = batch.tokens * batch.source_length / batch.length
            longer = (settings.unfold.times if settings.unfold is not None else 1.0) / each
            yield settings.side("encoder"), read * longer, batch.source_length * longer, False
            yield settings.side("decoder"), batch.tokens, batch.length, True
        case _:
            assert_never(settings.family)


def _hidden(forward: FeedForwardSettings, width: int) -> int:
    """Numbers inside of it for each token; of a gate, too."""
    if forward.kind == "none":
        return 0
    return forward.hidden(width) * (2 if isinstance(forward, Dense) and forward.gated else 1)


def _update(settings: ModelSettings, optimiser: OptimiserSettings) -> Iterator[float]:
    """Muon's products: a matrix with itself, that with itself, and with the matrix; some times."""
    if not isinstance(optimiser, Muon):
        return
    for layer in _layers(settings, Lengths(1, 1)):
        width, crossing = layer.width, layer.sublayers > 2
        shapes = [(width, 3 * width), (width, width), *2 * [(width, layer.hidden)], *4 * crossing * [(width, width)]]
        for rows, columns in ((min(shape), max(shape)) for shape in shapes if min(shape)):
            yield optimiser.steps * (4 * rows**2 * columns + 2 * rows**3)


def reads_tokens(settings: ModelSettings) -> bool:
    """What the load of a step is known for: readings and pictures enter by other layers."""
    return type(settings.input) is Tokens
