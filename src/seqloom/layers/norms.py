"""Normalisation: layer, RMS, batch, or none."""
# N tokens  D features

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.dropout import plus_dropped
from seqloom.layers.kernels import half
from seqloom.layers.layout import Layout
from seqloom.layers.native import norm as native
from seqloom.layers.native import readable, residual
from seqloom.settings import Frozen

if TYPE_CHECKING:
    from seqloom.layers.kernels.norm import How

WIDEST = 8192  # features, for a kernel of ours
LEAST = 1 << 15  # numbers, for one in C: of fewer, torch's two calls take no longer

Place = Literal["pre", "post", "both"]


class NormBase(Frozen):
    place: Place = Field(
        default="pre",
        description="pre: x + f(norm(x)); post (2017): norm(x + f(x)); both: x + norm(f(norm(x)))",
    )
    final: bool | None = Field(default=None, description="one more norm behind the last block; unset: unless 'post'")
    epsilon: float = Field(default=1e-5, gt=0)

    @property
    def ends(self) -> bool:
        return self.place != "post" if self.final is None else self.final


class LayerNorm(NormBase):
    """Mean 0 and deviation 1 over the features of each token (Ba et al. 2016)."""

    kind: Literal["layer"] = "layer"
    gain: bool = True
    bias: bool = True


class RMSNorm(NormBase):
    """Root mean square 1 over the features of each token (Zhang and Sennrich 2019)."""

    kind: Literal["rms"] = "rms"
    gain: bool = True


class BatchNorm(NormBase):
    """Mean 0 and deviation 1 of each feature over all real tokens of the batch (Ioffe and Szegedy 2015)."""

    kind: Literal["batch"] = "batch"
    gain: bool = True
    bias: bool = True
    momentum: float = Field(default=0.1, gt=0, le=1)


class NoNorm(Frozen):
    """No normalisation."""

    kind: Literal["none"] = "none"

    @property
    def place(self) -> Place:
        return "pre"

    @property
    def ends(self) -> bool:
        return False


NormSettings = Annotated[LayerNorm | RMSNorm | BatchNorm | NoNorm, Field(discriminator="kind")]


class Norm(nn.Module):
    """Norms take the layout too: one of them must know which tokens are real."""

    def __init__(self, width: int, epsilon: float, gain: bool, bias: bool) -> None:
        super().__init__()
        self.width, self.epsilon = width, epsilon
        self.gain_D = nn.Parameter(torch.ones(width)) if gain else None
        self.bias_D = nn.Parameter(torch.zeros(width)) if bias else None

    def of_sum(self, x: Tensor, y: Tensor, carry: float, scale: float, dropout: float, layout: Layout) -> Tensor:
        """norm(scale · (carry · x + dropout(y)))"""
        if not self._in_half(x):
            looked_at = self._forward_hooks or self._forward_pre_hooks
            made = None if looked_at else self._native(x, y, carry, scale, dropout)
            return self(sum_of(x, y, carry, scale, dropout), layout) if made is None else made
        from seqloom.layers.kernels.norm import Sum, added_normed

        return added_normed(x, y, self.gain_D, self.bias_D, Sum(carry, scale, dropout), self._how)

    def _native(
        self, x: Tensor, y: Tensor | None = None, carry: float = 1.0, scale: float = 1.0, dropout: float = 0.0
    ) -> Tensor | None:
        """In one pass on a CPU; None: the plain lines are to do it."""
        if not isinstance(self, LayerNormalisation | RMSNormalisation) or x.shape[-1] != self.width:
            return None
        centres = isinstance(self, LayerNormalisation)
        if not torch.is_grad_enabled() and not dropout:
            if x.numel() < LEAST:
                return None
            return native.normed(
                x, y, self.gain_D, self.bias_D, carry=carry, scale=scale, epsilon=self.epsilon, centres=centres
            )
        if not residual.fits(x, y) or not all(part is None or readable(part) for part in (self.gain_D, self.bias_D)):
            return None
        how = residual.How(self.epsilon, centres)
        return residual.normed(x, y, self.gain_D, self.bias_D, (carry, scale, dropout), how)

    def _in_half(self, x: Tensor) -> bool:
        """Where half precision is asked for, a kernel of ours writes it at once, and reads whatever there is."""
        return isinstance(self, LayerNormalisation | RMSNormalisation) and half(x) and self.width <= WIDEST

    @property
    def _how(self) -> "How":
        from seqloom.layers.kernels.norm import How

        return How(torch.get_autocast_dtype("cuda"), self.epsilon, isinstance(self, LayerNormalisation))

    def _normed(self, x: Tensor) -> Tensor:
        from seqloom.layers.kernels.norm import normed

        return normed(x, self.gain_D, self.bias_D, self._how)


def sum_of(x: Tensor, y: Tensor, carry: float, scale: float, dropout: float) -> Tensor:
    """scale · (carry · x + dropout(y))"""
    if dropout and half(x) and x.shape[-1] <= WIDEST:
        from seqloom.layers.kernels.norm import Sum, added

        return added(x, y, Sum(carry, scale, dropout))
    if (dropout or carry != 1 or scale != 1) and residual.fits(x, y):
        return residual.summed(x, y, carry, scale, dropout)
    y = plus_dropped(x if carry == 1 else x * carry, y, dropout)
    return y if scale == 1 else y * scale


class LayerNormalisation(Norm):
    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        if self._in_half(x):
            return self._normed(x)
        if (made := self._native(x)) is not None:
            return made
        return torch.layer_norm(x, (self.width,), self.gain_D, self.bias_D, self.epsilon)


class RMSNormalisation(Norm):
    def forward(self, x: Tensor, layout: Layout | None = None) -> Tensor:
        if self._in_half(x):
            return self._normed(x)
        if (made := self._native(x)) is not None:
            return made
        # under autocast x may be in half precision: so must the gain be then
        gain_D = None if self.gain_D is None else self.gain_D.to(x.dtype)
        return F.rms_norm(x, (self.width,), gain_D, self.epsilon)


class BatchNormalisation(Norm):
    """Statistics over real tokens only: padding and filler must not pull the mean. Running ones when not training."""

    mean_D: Tensor
    variance_D: Tensor

    def __init__(self, settings: BatchNorm, width: int) -> None:
        super().__init__(width, settings.epsilon, settings.gain, settings.bias)
        self.momentum = settings.momentum
        self.register_buffer("mean_D", torch.zeros(width))
        self.register_buffer("variance_D", torch.ones(width))

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        learns = self.training and not self._frozen
        mean_D, variance_D = self._statistics(x, layout) if learns else (self.mean_D, self.variance_D)
        y = ((x - mean_D) * torch.rsqrt(variance_D + self.epsilon)).to(x.dtype)
        y = y if self.gain_D is None else y * self.gain_D
        return y if self.bias_D is None else y + self.bias_D

    @property
    def _frozen(self) -> bool:
        """What does not learn keeps its statistics too."""
        own = [parameter for parameter in (self.gain_D, self.bias_D) if parameter is not None]
        return bool(own) and not any(parameter.requires_grad for parameter in own)

    def _statistics(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        # half precision cannot hold a sum over many tokens
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        real = x.new_ones(x.shape[:-1]) if layout.real is None else layout.real.to(x.dtype)
        x_ND, real_N1 = x.flatten(0, -2), real.flatten()[:, None]
        x_ND = torch.where(real_N1 > 0, x_ND, 0)
        count = real_N1.sum()
        mean_D = x_ND.sum(0) / count.clamp(min=1)
        variance_D = ((x_ND - mean_D).square() * real_N1).sum(0) / count.clamp(min=1)
        with torch.no_grad():
            unbiased_D = variance_D * (count / (count - 1).clamp(min=1))
            pull = torch.where(count > 0, self.momentum, 0.0).to(x.dtype)
            self.mean_D += pull * (mean_D - self.mean_D)
            self.variance_D += pull * (unbiased_D - self.variance_D)
        return mean_D, variance_D


class NoNormalisation(nn.Module):
    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        return x


def build_norm(settings: NormSettings, width: int) -> nn.Module:
    match settings:
        case LayerNorm():
            return LayerNormalisation(width, settings.epsilon, settings.gain, settings.bias)
        case RMSNorm():
            return RMSNormalisation(width, settings.epsilon, settings.gain, bias=False)
        case BatchNorm():
            return BatchNormalisation(settings, width)
        case NoNorm():
            return NoNormalisation()
        case _:
            assert_never(settings)


def norm_parameters(settings: NormSettings, width: int) -> int:
    match settings:
        case LayerNorm() | BatchNorm():
            return width * (settings.gain + settings.bias)
        case RMSNorm():
            return width * settings.gain
        case NoNorm():
            return 0
        case _:
            assert_never(settings)
