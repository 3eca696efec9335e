"""From what a sequence is made of to vectors: tokens, spelled words, real-valued readings, patches, features."""
# V vocabulary  D width  C channels  P steps in a patch  N tokens  W words  L width of a letter

from pathlib import Path
from typing import Annotated, Literal, Self, assert_never

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.dropout import Dropout
from seqloom.layers.features import FeatureEmbedding, Features
from seqloom.layers.images import ImageEmbedding, Images
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixers import MixerSettings, build_mixer
from seqloom.layers.recurrence import Recurrence
from seqloom.settings import Frozen, impossible

BYTES = 256
WORD = 6.0
"""Tokens of a word with its letters, about: of English in running text. Only a cost depends on it."""


class Tokens(Frozen):
    """A learned vector for each token of a vocabulary."""

    kind: Literal["tokens"] = "tokens"
    vectors: Path | None = Field(
        default=None, strict=False, description="a word2vec file, text or binary, to begin from"
    )
    all_words: bool = Field(
        default=False, description="the file's words are all known, those that training never sees too"
    )
    frozen: bool = Field(default=False, description="do not train the vectors")
    scale: bool = Field(default=False, description="times √width (Vaswani et al. 2017, section 3.4)")
    segments: int = Field(default=0, ge=0, description="kinds of segment, each with a vector of its own (BERT)")
    norm: bool = Field(default=False, description="a norm, of the model's kind, behind the positions (BERT)")
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="in training, of whole tokens, wherever they stand (Merity et al. 2018)"
    )
    deviation: float | None = Field(default=None, gt=0, description="of the random vectors; unset: 1 / √width")

    def cost(self, size: int, width: int) -> Cost:
        return Cost((size + self.segments) * width)


class Spelled(Tokens):
    """Words with their letters: the vector of a word, and what a mixer makes of its bytes, added.

    Ling et al. 2015 and Ma and Hovy 2016, who join them side by side. A token below the vocabulary's size is a word,
    one from there on is a byte of the word before it: `text/spelling.py`.
    """

    kind: Literal["spelled"] = "spelled"  # type: ignore[assignment]
    letters: int = Field(default=64, ge=1, description="width of a byte's vector, and of what reads them")
    reader: MixerSettings = Field(
        default=Recurrence(cell="lstm", direction="both"), description="what reads the bytes of a word"
    )
    letter_dropout: float = Field(default=0.0, ge=0, lt=1, description="before and behind what reads the bytes")

    def cost(self, size: int, width: int) -> Cost:
        read = self.reader.cost(self.letters, Use(causal=False, length=WORD)).times(WORD)
        return (
            super().cost(size, width) + Cost((BYTES + 1) * self.letters) + read + linear(self.letters, width, bias=True)
        )


class Vectors(Frozen):
    """Real-valued readings, several at each step, through a linear map."""

    kind: Literal["vectors"] = "vectors"
    norm: bool = False

    def cost(self, size: int, width: int) -> Cost:
        return linear(size, width, bias=True)


class Patches(Frozen):
    """As vectors, with several steps side by side as one; a patch that goes beyond the sequence's end is filled up."""

    kind: Literal["patches"] = "patches"
    length: int = Field(default=16, ge=1)
    stride: int | None = Field(
        default=None, ge=1, description="steps from one patch's beginning to the next one's; unset: its length"
    )
    fill: Literal["zeros", "last"] = Field(
        default="zeros", description="what stands beyond the end: nothing, or the last step again (PatchTST)"
    )
    norm: bool = False

    @model_validator(mode="after")
    def _nothing_between(self) -> Self:
        if self.every > self.length:
            raise impossible(f"between patches of {self.length} steps some would be left out", "stride")
        return self

    @property
    def every(self) -> int:
        return self.length if self.stride is None else self.stride

    def cost(self, size: int, width: int) -> Cost:
        return linear(size * self.length, width, bias=True)


InputSettings = Annotated[Tokens | Spelled | Vectors | Patches | Images | Features, Field(discriminator="kind")]


def positions_of(settings: InputSettings, steps: int) -> int:
    """How many positions a stack sees of so many steps."""
    return -(-steps // settings.every) if isinstance(settings, Patches) else steps


class TokenEmbedding(nn.Module):
    """The vectors. Made of `tied`, it shares them with another embedding or with the output."""

    def __init__(self, settings: Tokens, size: int, width: int, tied: nn.Parameter | None = None) -> None:
        super().__init__()
        self.factor, self.dropout = width**0.5 if settings.scale else 1.0, settings.dropout
        deviation = settings.deviation or width**-0.5
        self.weight_VD = nn.Parameter(torch.randn(size, width) * deviation) if tied is None else tied
        if settings.frozen:
            self.weight_VD.requires_grad_(False)
        self.segment_SD = nn.Parameter(torch.randn(settings.segments, width) * deviation) if settings.segments else None

    def forward(self, tokens: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        x = F.embedding(tokens, self.weight_VD) * self.factor
        if self.dropout and self.training:
            kept_V = F.dropout(self.weight_VD.new_ones(len(self.weight_VD)), self.dropout)
            x = x * kept_V[tokens][..., None]
        if self.segment_SD is None:
            if segments is not None:
                raise ValueError("segments are given, but the input's settings know none: set input.segments")
            return x, layout
        kinds = torch.zeros_like(tokens) if segments is None else segments
        return x + F.embedding(kinds, self.segment_SD), layout


class SpelledEmbedding(TokenEmbedding):
    def __init__(self, settings: Spelled, size: int, width: int, tied: nn.Parameter | None = None) -> None:
        super().__init__(settings, size, width, tied)
        self.letter_VL = nn.Parameter(torch.randn(BYTES + 1, settings.letters) * settings.letters**-0.5)
        self.reader = build_mixer(settings.reader, settings.letters, causal=False)
        self.letter_dropout = Dropout(settings.letter_dropout)
        self.spelt = nn.Linear(settings.letters, width)

    def forward(self, tokens: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        """Behind it a step is a word. Every row begins with one."""
        if layout.structure_BTT is not None:
            raise ValueError("a structure says which steps see which, and behind spelled words there are other steps")
        _no_segments(segments)
        whole = isinstance(layout, Packed) and layout.real is None
        tokens_N = tokens if whole else layout.pad(tokens)[layout.real_BT]
        # where words begin is found on the host, which must know all lengths: a GPU is waited for
        at_W = (tokens_N.cpu() < len(self.weight_VD)).nonzero()[:, 0]
        ends_B = layout.lengths_B.cpu().cumsum(0)
        lengths_B = torch.diff(torch.searchsorted(at_W, ends_B), prepend=ends_B.new_zeros(1))
        words = Packed.of(lengths_B, device=tokens.device)
        x_WD, _ = super().forward(tokens_N[at_W.to(tokens.device)], words)
        if len(at_W):
            letters = Packed.of(torch.diff(at_W, append=at_W.new_tensor([len(tokens_N)])), device=tokens.device)
            x_WD = x_WD + self.spelt(self._read(tokens_N, letters))
        if isinstance(layout, Packed):
            return x_WD, words
        return words.pad(x_WD), Padded.of(lengths_B, device=tokens.device)

    def _read(self, tokens_N: Tensor, letters: Packed) -> Tensor:
        """Of each word the highest of all its letters' states, feature by feature: x_WL. A mark stands before them."""
        letter_N = tokens_N - len(self.weight_VD)
        x_NL = self.letter_dropout(F.embedding(torch.where(letter_N < 0, BYTES, letter_N), self.letter_VL), letters)
        y_NL, _ = self.reader(x_NL, letters, None)
        y_WTL = letters.pad(self.letter_dropout(y_NL, letters))
        return y_WTL.masked_fill(~letters.real_BT[..., None], torch.finfo(y_WTL.dtype).min).amax(1)


class VectorEmbedding(nn.Module):
    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(size, width)

    def forward(self, readings: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        _no_segments(segments)
        return self.inputs(readings), layout


class PatchEmbedding(nn.Module):
    """Nie et al. 2023 (arXiv:2211.14730), section 3.1: a patch begins at every stride-th step of a sequence."""

    def __init__(self, settings: Patches, size: int, width: int) -> None:
        super().__init__()
        self.settings = settings
        self.inputs = nn.Linear(size * settings.length, width)

    def forward(self, readings: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        """Behind it a step is a patch: ⌈steps / stride⌉ of them in a row, in the padded form."""
        _no_segments(segments)
        if layout.structure_BTT is not None or layout.edges is not None:
            raise ValueError(
                "a structure says which steps see which, and behind patches there are no steps; use vectors"
            )
        length, every = self.settings.length, self.settings.every
        x_BTC = layout.pad(readings)
        count = -(-x_BTC.shape[1] // every)
        # whole strides, each of which begins a patch; the last ones reach beyond
        x_BTC = F.pad(x_BTC, (0, 0, 0, max(0, (max(count, 1) - 1) * every + length - x_BTC.shape[1])))
        if self.settings.fill == "last":
            x_BTC = _repeat_last(x_BTC, layout.lengths_B)
        if every == length:
            patches = x_BTC[:, : count * length].unflatten(1, (count, length)).flatten(2)
        else:
            patches = x_BTC.unfold(1, length, every)[:, :count].transpose(2, 3).flatten(2)
        lengths_B = (layout.lengths_B + every - 1) // every
        return self.inputs(patches), Padded(lengths_B, count, full=layout.uniform)


def _repeat_last(x_BTC: Tensor, lengths_B: Tensor) -> Tensor:
    """Behind each row's end, its last step."""
    steps_T = torch.arange(x_BTC.shape[1], device=x_BTC.device)
    from_BT = torch.minimum(steps_T, (lengths_B - 1).clamp(min=0)[:, None])
    return torch.gather(x_BTC, 1, from_BT[..., None].expand_as(x_BTC))


def _no_segments(segments: Tensor | None) -> None:
    if segments is not None:
        raise ValueError("segments are given, but an input of readings knows none: they are of tokens")


Embedding = TokenEmbedding | SpelledEmbedding | VectorEmbedding | PatchEmbedding | ImageEmbedding | FeatureEmbedding


def build_embedding(settings: InputSettings, size: int, width: int, tied: nn.Parameter | None = None) -> Embedding:
    """size: of the vocabulary, or readings at each step."""
    match settings:
        case Spelled():
            return SpelledEmbedding(settings, size, width, tied)
        case Tokens():
            return TokenEmbedding(settings, size, width, tied)
        case Vectors():
            return VectorEmbedding(size, width)
        case Patches():
            return PatchEmbedding(settings, size, width)
        case Images():
            return ImageEmbedding(settings, size, width)
        case Features():
            return FeatureEmbedding(settings, size, width)
        case _:
            assert_never(settings)
