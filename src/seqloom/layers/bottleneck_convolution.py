"""ByteNet's residual block: a convolution between two maps that narrow and widen.

Kalchbrenner et al. 2016, arXiv:1610.10099, section 3.6: norm and ReLU stand before each of the three. The first norm is
the block's own (norm = { kind = "layer", place = "pre" }).
"""
# D width  H hidden width

from dataclasses import replace
from typing import Literal

from pydantic import Field
from torch import Tensor

from seqloom.layers.activations import Activation, activate
from seqloom.layers.convolution import Convolution, ConvolutionMixer, ConvolutionState
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout
from seqloom.layers.linear import Linear
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.norms import LayerNormalisation
from seqloom.settings import Frozen


class BottleneckConvolution(Frozen):
    """f(x) → narrower → norm, f → convolution → norm, f → as wide as before."""

    kind: Literal["bottleneck-convolution"] = "bottleneck-convolution"
    kernel: int = Field(default=3, ge=1)
    dilation: int = Field(default=1, ge=1)
    hidden: int | None = Field(default=None, ge=1, description="width of the convolution; unset: half of the model's")
    activation: Activation = "relu"

    def narrow(self, width: int) -> int:
        return self.hidden or max(width // 2, 1)

    @property
    def convolution(self) -> Convolution:
        return Convolution(kernel=self.kernel, dilation=self.dilation)

    def check(self, width: int, causal: bool) -> Faults:
        return self.convolution.check(width, causal)

    def cost(self, width: int, use: Use) -> Cost:
        narrow = self.narrow(width)
        maps = linear(width, narrow, bias=True) + linear(narrow, width, bias=True)
        return maps + self.convolution.cost(narrow, replace(use, inputs=None)) + Cost(4 * narrow)


class BottleneckConvolutionMixer(Mixer):
    def __init__(self, settings: BottleneckConvolution, width: int, causal: bool) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.causal, narrow = causal, settings.narrow(width)
        self.activate = activate(settings.activation)
        self.inputs, self.out = Linear(width, narrow), Linear(narrow, width)
        self.norm_in = LayerNormalisation(narrow, 1e-5, gain=True, bias=True)
        self.norm_out = LayerNormalisation(narrow, 1e-5, gain=True, bias=True)
        self.convolution = ConvolutionMixer(settings.convolution, narrow, causal)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> ConvolutionState:
        return self.convolution.start(rows, memory, capacity)

    def forward(
        self, x: Tensor, layout: Layout, state: ConvolutionState | None = None
    ) -> tuple[Tensor, ConvolutionState | None]:
        narrow = self.activate(self.norm_in(self.inputs(self.activate(x)), layout))
        read, state = self.convolution(narrow, layout, state)
        return self.out(self.activate(self.norm_out(read, layout))), state
