"""Convolution as a sequence layer: fixed reach, all steps at once."""
# B rows  T steps  N tokens  D width  O outputs  k taps  R reach: steps behind (and ahead) that a tap may stand

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.activations import Activation, activate
from seqloom.layers.cost import Cost, Use
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.linear import mapped
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure
from seqloom.layers.paths import fast
from seqloom.layers.weight_norm import weight_normed
from seqloom.layers.windows import Taps, windows
from seqloom.settings import Frozen


class Convolution(Frozen):
    """Each position reads `kernel` positions, `dilation` apart. Beyond a sequence's edges there are zeros."""

    kind: Literal["convolution"] = "convolution"
    kernel: int = Field(default=3, ge=1)
    dilation: int = Field(default=1, ge=1)
    depthwise: bool = Field(default=False, description="each feature by itself")
    gated: bool = Field(default=False, description="half of the outputs, times the sigmoid of the other half (GLU)")
    activation: Activation = "identity"
    bias: bool = True
    weight_norm: bool = Field(
        default=False,
        description="weights as direction and length, which begin so that variance is kept (Gehring et al. 2017)",
    )

    @property
    def reach(self) -> int:
        return (self.kernel - 1) * self.dilation

    def check(self, width: int, causal: bool) -> Faults:
        if not causal and self.reach % 2:
            yield "kernel", f"without a causal mask the kernel must have a middle: an odd number, not {self.kernel}"
        if self.gated and self.activation != "identity":
            yield "activation", "a gated convolution has its gate for that; leave the activation out"

    def cost(self, width: int, use: Use) -> Cost:
        outputs = 2 * width if self.gated else width
        weights = self.kernel * outputs * (1 if self.depthwise else use.inputs or width)
        return Cost(weights + outputs * (self.bias + self.weight_norm), 2 * weights)


@dataclass(frozen=True)
class ConvolutionState:
    """The last steps, as many as the taps reach back; zeros where there were none."""

    last_BRD: Tensor


@dataclass(frozen=True)
class ConvolutionParts:
    """What each position sees, tap by tap, and what the map makes of it, before gate or activation."""

    windows_BTkD: Tensor
    mapped_BTO: Tensor


class ConvolutionMixer(Mixer):
    def __init__(self, settings: Convolution, width: int, causal: bool, inputs: int | None = None) -> None:
        """inputs: the width of what it reads, where that is another than what it writes."""
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.width, self.causal = settings, inputs or width, causal
        if settings.depthwise and self.width != width:
            raise ValueError(f"convolution.depthwise: {self.width} features cannot become {width} each by itself")
        outputs = 2 * width if settings.gated else width
        self.behind = settings.reach if causal else settings.reach // 2
        self.ahead = settings.reach - self.behind
        self.conv = nn.Conv1d(
            self.width,
            outputs,
            settings.kernel,
            dilation=settings.dilation,
            groups=width if settings.depthwise else 1,
            bias=settings.bias,
        )
        if settings.weight_norm:
            weight_normed(self.conv, gain=4 if settings.gated else 1)
        self.activate = activate(settings.activation)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> ConvolutionState:
        return ConvolutionState(self.anchor.new_zeros(rows, self.behind, self.width))

    def forward(
        self, x: Tensor, layout: Layout, state: ConvolutionState | None = None
    ) -> tuple[Tensor, ConvolutionState | None]:
        if not self.causal:
            no_state(self, state)
        no_structure(self, layout)
        if fast() and state is None and isinstance(layout, Packed) and not self.settings.depthwise:
            return self._finished(self._product(windows(x, layout, self._where))), None
        x_BTD = layout.pad(x)
        if state is None:
            joined_BTD = F.pad(x_BTD, (0, 0, self.behind, self.ahead))
        else:
            joined_BTD = torch.cat((state.last_BRD, x_BTD), 1)
            state = ConvolutionState(_last(joined_BTD, layout.lengths_B, self.behind))
        return layout.unpad(self._finished(self._convolved(joined_BTD, x_BTD.shape[1]))), state

    def _convolved(self, joined_BTD: Tensor, steps: int) -> Tensor:
        if fast() and self.settings.depthwise and steps:
            return self.conv(joined_BTD.transpose(1, 2)).transpose(1, 2)
        taps = self._taps(joined_BTD, steps)
        return self._product(torch.cat(taps, -1)) if fast() and not self.settings.depthwise else self._plain(taps)

    def _plain(self, taps: list[Tensor]) -> Tensor:
        """y = Σ_j W_j x[t + j·dilation] + b."""
        outputs = self.conv.out_channels
        total = taps[0].new_zeros(*taps[0].shape[:-1], outputs)
        for j, tap in enumerate(taps):
            if self.settings.depthwise:
                total = total + tap.repeat_interleave(outputs // self.width, -1) * self.conv.weight[:, 0, j]
            else:
                total = total + tap @ self.conv.weight[:, :, j].T
        return total if self.conv.bias is None else total + self.conv.bias

    def _product(self, read: Tensor) -> Tensor:
        """One matrix product for all taps, which stand side by side."""
        return mapped(read, self.conv.weight.transpose(1, 2).flatten(1), self.conv.bias)

    @property
    def _where(self) -> Taps:
        return Taps(self.settings.kernel, self.settings.dilation, self.behind)

    def parts(self, x: Tensor, layout: Layout, state: ConvolutionState | None = None) -> ConvolutionParts:
        """What it makes of this very call on the way, by the equation, flush left."""
        x_BTD = layout.pad(x)
        if state is None:
            joined_BTD = F.pad(x_BTD, (0, 0, self.behind, self.ahead))
        else:
            joined_BTD = torch.cat((state.last_BRD, x_BTD), 1)
        taps = self._taps(joined_BTD, x_BTD.shape[1])
        return ConvolutionParts(torch.stack(taps, 2), self._plain(taps))

    def _taps(self, joined_BTD: Tensor, steps: int) -> list[Tensor]:
        gaps = range(0, self.settings.reach + 1, self.settings.dilation)
        return [joined_BTD[:, gap : gap + steps] for gap in gaps]

    def _finished(self, y: Tensor) -> Tensor:
        return F.glu(y, -1) if self.settings.gated else self.activate(y)


def _last(joined_BTD: Tensor, lengths_B: Tensor, keep: int) -> Tensor:
    """The last `keep` steps up to each row's own end, not the batch's."""
    from_BR = lengths_B[:, None] + torch.arange(keep, device=joined_BTD.device)
    return joined_BTD.gather(1, from_BR[..., None].expand(-1, -1, joined_BTD.shape[2]))
