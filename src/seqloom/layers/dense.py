"""The position-wise feed-forward layer: the non-linearity that averaging lacks (Vaswani et al. 2017, section 3.3)."""
# D width  F hidden width

from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.activations import Activation, activate
from seqloom.layers.cost import Cost, linear
from seqloom.layers.dropout import dropped
from seqloom.layers.faults import Faults
from seqloom.layers.kernels import usable
from seqloom.layers.linear import Linear, rectified
from seqloom.layers.two_maps import fits, mapped_twice
from seqloom.settings import Frozen


class Dense(Frozen):
    """f(xW₁ + b₁)W₂ + b₂; gated: (f(xW₁) ⊙ xV)W₂ (Shazeer 2020)."""

    kind: Literal["dense"] = "dense"
    width: int | None = Field(default=None, ge=1, description="hidden width; unset: four times the model's")
    activation: Activation = "relu"
    gated: bool = False
    bias: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of the hidden layer")

    def hidden(self, width: int) -> int:
        return self.width or 4 * width

    def check(self, width: int) -> Faults:
        yield from ()

    def cost(self, width: int) -> Cost:
        hidden = self.hidden(width)
        return linear(width, hidden * (2 if self.gated else 1), self.bias) + linear(hidden, width, self.bias)


class DenseFeedForward(nn.Module):
    def __init__(self, settings: Dense, width: int) -> None:
        super().__init__()
        hidden = settings.hidden(width)
        self.gated, self.dropout, self.activation = settings.gated, settings.dropout, settings.activation
        self.activate = activate(settings.activation)
        self.inputs = Linear(width, hidden * (2 if self.gated else 1), settings.bias)
        self.out = Linear(hidden, width, settings.bias)

    def forward(self, x: Tensor) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        if not self.gated and fits(x, self.inputs, self.out, self.activation, dropout):
            return mapped_twice(x, self.inputs, self.out, self.activation, dropout)
        if self.activate is F.relu and not self.gated:
            return self.out(dropped(rectified(self.inputs, x), dropout))
        hidden = self.inputs(x)
        hidden = self._gated(hidden) if self.gated else self.activate(hidden)
        return self.out(dropped(hidden, dropout))

    def _gated(self, hidden: Tensor) -> Tensor:
        if usable(hidden) and hidden.dtype != torch.float64:
            from seqloom.layers.kernels.gate import KINDS, gated

            if self.activation in KINDS:
                return gated(hidden, self.activation)
        gate, value = hidden.chunk(2, -1)
        return self.activate(gate) * value
