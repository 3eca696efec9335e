"""From what a sequence is made of to vectors: tokens, real-valued readings, patches of them, features."""
# V vocabulary  D width  C channels  P steps in a patch

from pathlib import Path
from typing import Annotated, Literal, assert_never

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.cost import Cost, linear
from seqloom.layers.features import FeatureEmbedding, Features
from seqloom.layers.images import ImageEmbedding, Images
from seqloom.layers.layout import Layout, Padded
from seqloom.settings import Frozen


class Tokens(Frozen):
    """A learned vector for each token of a vocabulary."""

    kind: Literal["tokens"] = "tokens"
    vectors: Path | None = Field(
        default=None, strict=False, description="a word2vec file, text or binary, to begin from"
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


class Vectors(Frozen):
    """Real-valued readings, several at each step, through a linear map."""

    kind: Literal["vectors"] = "vectors"
    norm: bool = False

    def cost(self, size: int, width: int) -> Cost:
        return linear(size, width, bias=True)


class Patches(Frozen):
    """As vectors, with several steps side by side as one; the last patch of a sequence is filled up with zeros."""

    kind: Literal["patches"] = "patches"
    length: int = Field(default=16, ge=1)
    norm: bool = False

    def cost(self, size: int, width: int) -> Cost:
        return linear(size * self.length, width, bias=True)


InputSettings = Annotated[Tokens | Vectors | Patches | Images | Features, Field(discriminator="kind")]


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


class VectorEmbedding(nn.Module):
    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(size, width)

    def forward(self, readings: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        _no_segments(segments)
        return self.inputs(readings), layout


class PatchEmbedding(nn.Module):
    def __init__(self, size: int, width: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.inputs = nn.Linear(size * length, width)

    def forward(self, readings: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        """Behind it a step is a patch: ⌈steps / length⌉ of them in a row, in the padded form."""
        _no_segments(segments)
        if layout.structure_BTT is not None or layout.edges is not None:
            raise ValueError(
                "a structure says which steps see which, and behind patches there are no steps; use vectors"
            )
        x_BTC = layout.pad(readings)
        fill = -x_BTC.shape[1] % self.length
        patches = F.pad(x_BTC, (0, 0, 0, fill)).unflatten(1, (-1, self.length)).flatten(2)
        lengths_B = (layout.lengths_B + self.length - 1) // self.length
        return self.inputs(patches), Padded(lengths_B, patches.shape[1], full=layout.uniform)


def _no_segments(segments: Tensor | None) -> None:
    if segments is not None:
        raise ValueError("segments are given, but an input of readings knows none: they are of tokens")


Embedding = TokenEmbedding | VectorEmbedding | PatchEmbedding | ImageEmbedding | FeatureEmbedding


def build_embedding(settings: InputSettings, size: int, width: int, tied: nn.Parameter | None = None) -> Embedding:
    """size: of the vocabulary, or readings at each step."""
    match settings:
        case Tokens():
            return TokenEmbedding(settings, size, width, tied)
        case Vectors():
            return VectorEmbedding(size, width)
        case Patches():
            return PatchEmbedding(size, width, settings.length)
        case Images():
            return ImageEmbedding(settings, size, width)
        case Features():
            return FeatureEmbedding(settings, size, width)
        case _:
            assert_never(settings)
