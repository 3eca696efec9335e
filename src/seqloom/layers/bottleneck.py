"""The fixed vector: all that a decoder without attention learns of its source."""
# B rows  D width

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout
from seqloom.layers.mixer import Memory, Mixer
from seqloom.settings import Frozen

Summary = Literal["last", "first", "ends", "mean"]
"""last: the state at the last position. first: at the first, where a backward direction ends. ends: half of the width
from the last position, half from the first: both directions' ends, where they stand side by side. mean: of all
positions."""


def summarise(memory: Memory, how: Summary) -> Tensor:
    """One vector a row: summary_BD."""
    match how:
        case "mean":
            return memory.layout.mean_B(memory.states)
        case "last":
            return memory.layout.last_B(memory.states)
        case "first":
            return memory.layout.first_B(memory.states)
        case "ends":
            half = memory.states.shape[-1] // 2
            last_BD = memory.layout.last_B(memory.states)
            first_BD = memory.layout.first_B(memory.states)
            return torch.cat((last_BD[:, :half], first_BD[:, half:]), -1)


class Bottleneck(Frozen):
    """Every target position gets the same summary of the source (Cho et al. 2014), and nothing else."""

    kind: Literal["bottleneck"] = "bottleneck"
    summary: Summary = "last"
    bias: bool = True

    def check(self, width: int, causal: bool) -> Faults:
        if self.summary == "ends" and width % 2:
            yield "summary", f"'ends' takes half of the width from each end, so the width must be even, not {width}"

    def cost(self, width: int, use: Use) -> Cost:
        """The map is applied once a row, which is counted as nothing for a token."""
        return Cost(linear(use.memory_width or width, width, self.bias).parameters)


@dataclass(frozen=True)
class BottleneckState:
    context_BD: Tensor


class BottleneckMixer(Mixer):
    needs_memory = True
    causal = True

    def __init__(self, settings: Bottleneck, width: int, memory_width: int | None = None) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal=True))
        self.summary = settings.summary
        self.out = nn.Linear(memory_width or width, width, settings.bias)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> BottleneckState:
        if memory is None:
            raise ValueError("the bottleneck needs a memory to start from")
        return BottleneckState(self.out(summarise(memory, self.summary)))

    def forward(
        self, x: Tensor, layout: Layout, state: BottleneckState | None = None
    ) -> tuple[Tensor, BottleneckState | None]:
        if state is None:
            raise ValueError("the bottleneck needs the state that `start` makes from a memory")
        return layout.of_rows(state.context_BD).expand_as(x), state
