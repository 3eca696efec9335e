"""A decoder that stands on its encoder: each target step reads the source state at its own place.

Kalchbrenner et al. 2016, arXiv:1610.10099, section 3.1: no attention, and time that grows with the length.
"""
# B rows  A memories  S memory positions  T steps  D width

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults
from seqloom.layers.layout import Layout
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.paths import fast
from seqloom.settings import Frozen


class Aligned(Frozen):
    """Target step t reads the source's state t, and nothing beyond the source's end; see also [model.unfold]."""

    kind: Literal["aligned"] = "aligned"
    project: bool = Field(default=True, description="through a linear map; false: the state as it is")
    bias: bool = True

    def check(self, width: int, causal: bool) -> Faults:
        yield from ()

    def cost(self, width: int, use: Use) -> Cost:
        inputs = use.memory_width or width
        return linear(inputs, width, self.bias).times(use.ratio) if self.project else Cost()


@dataclass(frozen=True)
class AlignedState:
    """The mapped source, zeros behind each end, and how many steps each row has behind it.

    fan: so many rows, one after the other, read the same source, which therefore is not copied when they fork.
    """

    memory_ASD: Tensor
    at_B: Tensor | None
    """None: whole sequences, from their beginning."""
    fan: int = 1

    def reorder(self, rows_B: Tensor) -> "AlignedState":
        rows_A = rows_B if self.fan == 1 else rows_B[:: self.fan] // self.fan
        memory_ASD = self.memory_ASD.index_select(0, rows_A)
        return replace(self, memory_ASD=memory_ASD, at_B=self.behind.index_select(0, rows_B))

    def fork(self, rows_B: Tensor) -> "AlignedState":
        return replace(self, at_B=self.behind.index_select(0, rows_B)) if self.fan > 1 else self.reorder(rows_B)

    def fan_out(self, times: int) -> "AlignedState":
        return replace(self, at_B=self.behind.repeat_interleave(times), fan=self.fan * times)

    @property
    def behind(self) -> Tensor:
        if self.at_B is None:
            raise ValueError("this state is for whole sequences; begin from `start` to go step by step")
        return self.at_B

    @classmethod
    def join(cls, states: Sequence["AlignedState"]) -> "AlignedState":
        if len({state.fan for state in states}) > 1:
            raise ValueError("memories can only be joined with others that as many rows share")
        size = max(state.memory_ASD.shape[1] for state in states)
        memories = [F.pad(state.memory_ASD, (0, 0, 0, size - state.memory_ASD.shape[1])) for state in states]
        return cls(torch.cat(memories), torch.cat([state.behind for state in states]), states[0].fan)


class AlignedMixer(Mixer):
    needs_memory = True
    causal = True

    def __init__(self, settings: Aligned, width: int, memory_width: int | None = None) -> None:
        super().__init__()
        inputs = memory_width or width
        if not settings.project and inputs != width:
            raise ValueError(f"aligned.project: a state of width {inputs} needs a map to be read at width {width}")
        self.out = nn.Linear(inputs, width, settings.bias) if settings.project else None

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> AlignedState:
        if memory is None:
            raise ValueError("a decoder that stands on its encoder needs a memory to start from")
        memory = memory.unpadded or memory
        mapped = memory.states if self.out is None else self.out(memory.states)
        at_B = torch.zeros(rows, dtype=torch.int64, device=mapped.device)
        return AlignedState(memory.layout.pad(mapped), at_B)

    def begin(self, rows: int, memory: Memory | None = None) -> AlignedState:
        return replace(self.start(rows, memory), at_B=None)

    def forward(
        self, x: Tensor, layout: Layout, state: AlignedState | None = None
    ) -> tuple[Tensor, AlignedState | None]:
        if state is None:
            raise ValueError("a decoder that stands on its encoder needs the state that `start` makes from a memory")
        if fast() and state.at_B is None:
            # whole sequences: the source cut, or filled with zeros, to the target's length
            return layout.unpad(F.pad(state.memory_ASD, (0, 0, 0, layout.longest - state.memory_ASD.shape[1]))), state
        y = self._looked_up(layout, state)
        return y, state if state.at_B is None else replace(state, at_B=state.at_B + layout.lengths_B)

    def _looked_up(self, layout: Layout, state: AlignedState) -> Tensor:
        """y[t] = m[t], or 0 where the source has ended."""
        size = state.memory_ASD.shape[1]
        at = layout.places(state.at_B)
        row = layout.of_rows(torch.arange(layout.rows, device=at.device)[:, None] // state.fan)[..., 0].expand_as(at)
        if not size:
            return state.memory_ASD.new_zeros(*at.shape, state.memory_ASD.shape[2])
        found = state.memory_ASD[row, at.clamp(max=size - 1)]
        return torch.where((at < size)[..., None], found, 0)
