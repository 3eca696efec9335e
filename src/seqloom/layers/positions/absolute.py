"""Positions that join the input: sinusoidal, learned, or none; by addition or by concatenation."""
# D width of the position vectors  P positions

import math
from typing import Annotated, Literal, assert_never

import torch
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.kernels import usable
from seqloom.layers.native import usable_both_ways
from seqloom.layers.positions.angles import angles
from seqloom.settings import Frozen

Join = Literal["add", "concat"]

TABLE = 512
"""Positions whose sinusoids are kept on a CPU."""


class NoPositions(Frozen):
    """The model does not know the order, unless its mixers do."""

    kind: Literal["none"] = "none"


class Sinusoidal(Frozen):
    """sin and cos of the position at falling rates (Vaswani et al. 2017, section 3.5). Any length; nothing to learn."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    join: Join = "add"
    width: int | None = Field(default=None, ge=2, description="with join = 'concat': how much of the width it takes")
    base: float = Field(default=10_000.0, gt=1)
    order: Literal["interleaved", "halves"] = Field(
        default="interleaved", description="sin, cos, sin, cos, … (the paper), or all sines, then all cosines (Marian)"
    )


class Learned(Frozen):
    """A learned vector for each position up to `length`; longer sequences are refused."""

    kind: Literal["learned"] = "learned"
    join: Join = "add"
    width: int | None = Field(default=None, ge=1, description="with join = 'concat': how much of the width it takes")
    length: int = Field(default=512, ge=1)


PositionsSettings = Annotated[NoPositions | Sinusoidal | Learned, Field(discriminator="kind")]


class SinusoidalPositions(nn.Module):
    """PE(pos, 2i) = sin(pos / base^(2i/D)), PE(pos, 2i+1) = cos(the same)."""

    def __init__(self, settings: Sinusoidal, width: int) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"sinusoids come in pairs of sine and cosine, so their width must be even, not {width}")
        self.width, self.base, self.order = width, settings.base, settings.order
        self.table_PD: Tensor | None = None
        self.waves_2D: Tensor | None = None

    def forward(self, at: Tensor, dtype: torch.dtype) -> Tensor:
        """The first positions are looked up on a CPU, where sines take longer than a small model's layer."""
        if at.is_cuda and not torch.compiler.is_compiling():
            return self._waves(at, dtype)
        if at.device.type != "cpu" or torch.compiler.is_compiling() or not at.numel():
            return self._sines(at, dtype)
        if (self.training and not usable_both_ways()) or int(at.max()) >= TABLE:
            return self._sines(at, dtype)
        if self.table_PD is None or self.table_PD.dtype != dtype:
            with torch.inference_mode(False):  # it outlives whoever asks first
                self.table_PD = self._sines(torch.arange(TABLE), dtype)
        return nn.functional.embedding(at, self.table_PD)

    def _waves(self, at: Tensor, dtype: torch.dtype) -> Tensor:
        """The same in one kernel, or in few: sin(rate · pos + phase)."""
        if self.waves_2D is None or self.waves_2D.device != at.device:
            with torch.inference_mode(False):  # they outlive whoever asks first
                one = torch.ones(1, dtype=torch.int64, device=at.device)
                rate_D2 = angles(one, self.width, self.base, torch.float64)[0]
                zero_D2 = torch.zeros_like(rate_D2)
                pairs = (rate_D2, rate_D2), (zero_D2, zero_D2 + math.pi / 2)
                halves = self.order == "halves"
                self.waves_2D = torch.stack([torch.cat(x) if halves else torch.stack(x, -1).flatten() for x in pairs])
        rate_D, phase_D = self.waves_2D
        if usable(at) and dtype != torch.float64:
            from seqloom.layers.kernels.waves import waves

            return waves(at, rate_D, phase_D, dtype)
        return (at[..., None] * rate_D).add_(phase_D).sin_().to(dtype)

    def _sines(self, at: Tensor, dtype: torch.dtype) -> Tensor:
        # the angle of a far position has few digits left behind the point; some devices know no float64
        precision = torch.float32 if at.device.type == "mps" else torch.float64
        angle = angles(at, self.width, self.base, precision)
        pair = angle.sin(), angle.cos()
        joined = torch.stack(pair, -1).flatten(-2) if self.order == "interleaved" else torch.cat(pair, -1)
        return joined.to(dtype)


class LearnedPositions(nn.Module):
    def __init__(self, settings: Learned, width: int) -> None:
        super().__init__()
        self.weight_PD = nn.Parameter(torch.randn(settings.length, width) * 0.02)

    def forward(self, at: Tensor, dtype: torch.dtype) -> Tensor:
        # a GPU cannot be asked without waiting for it; there the lookup itself stops the program
        if (
            not torch.compiler.is_compiling()
            and at.device.type == "cpu"
            and at.numel()
            and int(at.max()) >= len(self.weight_PD)
        ):
            raise ValueError(
                f"position {int(at.max()) + 1} of a sequence, but positions are learned for the first "
                f"{len(self.weight_PD)} only; raise positions.length, or choose kind = 'sinusoidal'"
            )
        return nn.functional.embedding(at, self.weight_PD).to(dtype)


def build_positions(settings: PositionsSettings, width: int) -> SinusoidalPositions | LearnedPositions | None:
    match settings:
        case NoPositions():
            return None
        case Sinusoidal():
            return SinusoidalPositions(settings, width)
        case Learned():
            return LearnedPositions(settings, width)
        case _:
            assert_never(settings)
