"""Pictures as sequences: square patches, each a vector (Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1)."""
# B rows  T numbers of the longest row  V vocabulary  R rows and C columns of patches  P side of a patch  D width

from collections.abc import Sequence
from typing import Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from seqloom.layers.cost import Cost, linear
from seqloom.layers.layout import Layout, Padded
from seqloom.settings import Frozen, UserError, impossible


class Images(Frozen):
    """Pictures, pixel by pixel, line by line: readings, a step for each pixel; or tokens that are numbers, the channels
    of a pixel side by side, and an end mark."""

    kind: Literal["images"] = "images"
    patch: int = Field(default=16, ge=1, description="side of a square patch, in pixels")
    columns: int = Field(default=224, ge=1, description="width of a picture, in pixels")
    channels: int = Field(default=3, ge=1, description="numbers of a pixel: 3 of a coloured one, 1 of a grey one")
    brightest: float = Field(
        default=255.0, gt=0, le=65535, description="of tokens, the number that stands for 1; readings have their scale"
    )
    norm: bool = False

    @model_validator(mode="after")
    def _whole_patches(self) -> Self:
        if self.columns % self.patch:
            raise impossible(f"pictures of {self.columns} columns are not cut evenly by {self.patch}", "patch")
        return self

    @property
    def numbers(self) -> int:
        """In a patch."""
        return self.patch**2 * self.channels

    def longest(self, positions: int) -> int:
        """Tokens of the largest picture that has no more patches than positions, its end mark included."""
        return positions * self.numbers + 1

    def most_pixels(self, positions: int) -> int:
        """The same of readings."""
        return positions * self.patch**2

    def cost(self, size: int, width: int) -> Cost:
        return linear(self.numbers, width, bias=True)


class ImageEmbedding(nn.Module):
    """What each token stands for is read off the vocabulary once, and kept with the weights."""

    value_V: Tensor

    def __init__(self, settings: Images, size: int, width: int) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("value_V", torch.zeros(size))
        self.inputs = nn.Linear(settings.numbers, width)

    def learn(self, words: Sequence[str]) -> None:
        """words: the vocabulary, of which all but the special tokens in <> are numbers."""
        values = []
        for word in words:
            special = word.startswith("<") and word.endswith(">")
            try:
                values.append(0.0 if special else float(word) / self.settings.brightest)
            except ValueError:
                raise UserError(
                    f"model.input reads pictures, whose tokens are numbers with spaces between them, and {word!r} is "
                    "none; write pixels as numbers, or set model.input.kind = 'tokens'"
                ) from None
        self.value_V.copy_(torch.tensor(values))

    def forward(self, tokens: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        """Behind it a step is a patch, line by line, in the padded form; a last line is filled up with zeros."""
        if segments is not None or layout.structure_BTT is not None or layout.edges is not None:
            raise ValueError("a picture has no segments and no structure of its numbers: they are of tokens")
        P, C = self.settings.patch, self.settings.columns // self.settings.patch
        band = C * self.settings.numbers  # of patches side by side
        if tokens.is_floating_point():
            numbers_B = layout.lengths_B * self.settings.channels
            x_BT = layout.pad(tokens).flatten(1)
            most = layout.longest * self.settings.channels
        else:
            numbers_B = (layout.lengths_B - 1).clamp(min=0)
            x_BT = layout.pad(self.value_V[tokens])
            x_BT = torch.where(torch.arange(x_BT.shape[1], device=x_BT.device) < numbers_B[:, None], x_BT, 0)
            most = max(layout.longest - 1, 0)
        x_BT = F.pad(x_BT[:, :most], (0, -most % band))
        lines = x_BT.unflatten(1, (-1, P, C, P, self.settings.channels))
        patches = lines.transpose(2, 3).flatten(3).flatten(1, 2)
        lengths_B = (numbers_B + band - 1) // band * C
        return self.inputs(patches), Padded(lengths_B, patches.shape[1], full=layout.uniform)
