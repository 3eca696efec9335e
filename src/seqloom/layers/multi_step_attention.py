"""Attention of each decoder layer, as convolutions need it (Gehring et al. 2017, arXiv:1705.03122, section 3.3)."""
# D width of the decoder's layer  E width of the embedding and of the memory

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.cohorts import Cohorts
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.cross_attention import MemoryAttention, MemoryState, PackedMemory
from seqloom.layers.faults import Faults
from seqloom.layers.heads import Heads
from seqloom.layers.layout import Layout
from seqloom.layers.linear import Linear
from seqloom.layers.mixer import Memory
from seqloom.layers.weight_norm import weight_normed
from seqloom.settings import Frozen

HALF = 0.5**0.5
"""Of a sum of two: the variance stays what it was."""


class MultiStep(Frozen):
    """One dot product: the query knows the target's embedding, and the values know the source's."""

    kind: Literal["multi-step"] = "multi-step"
    weight_norm: bool = Field(default=True, description="of both maps, as in a convolution")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of attention weights")
    divide: bool = Field(
        default=False,
        description="in training, what the encoder learns from is divided by the number of layers that attend to it "
        "(section 3.5)",
    )

    def check(self, width: int, causal: bool) -> Faults:
        yield from ()

    def cost(self, width: int, use: Use) -> Cost:
        inner = use.memory_width or width
        maps = linear(width, inner, bias=True) + linear(inner, width, bias=True)
        return maps + Cost(width + inner if self.weight_norm else 0, 4 * inner * use.memory)


class MultiStepAttention(MemoryAttention):
    """d = (W h + b + g)√½,  c = √m · Σ softmax(d · z) (z + e)√½: keys z, values with the source's embedding e.

    Eq. 1 and 2; the sums are scaled by √½, as section 3.5 does with residual ones, and the m averaged values by √m.
    """

    def __init__(self, settings: MultiStep, width: int, memory_width: int | None = None) -> None:
        inner = memory_width or width
        alone = Heads(heads=1, score="dot", project=False, output=False, dropout=settings.dropout)
        super().__init__(alone, inner)
        self.query, self.out = Linear(width, inner), Linear(inner, width)
        if settings.weight_norm:
            weight_normed(self.query, gain=1)
            weight_normed(self.out, gain=1)

    def _keys_values(self, memory: Memory) -> tuple[Tensor, Tensor]:
        key, value = self.heads.keys_values(memory.states)
        if memory.embedded is None:
            return key, value
        return key, (value + self.heads.keys_values(memory.embedded)[1]) * HALF

    def forward(
        self,
        x: Tensor,
        layout: Layout,
        state: MemoryState | None = None,
        embedded: Tensor | None = None,
    ) -> tuple[Tensor, MemoryState | None]:
        """embedded: the target's embedding g, of the same positions."""
        if state is None:
            raise ValueError("attention over a memory needs the state that `start` makes from it")
        found = self.heads.join(self._read(self._queries(x, embedded), layout, state))
        return self._widened(found, layout, state), state

    def _widened(self, found: Tensor, layout: Layout, state: MemoryState) -> Tensor:
        return self.out(found * _root_of_lengths(layout, state).to(found.dtype))

    def weights(self, x: Tensor, layout: Layout, state: MemoryState, embedded: Tensor | None = None) -> Tensor:
        return self.parts(x, layout, state, embedded).weights_BHTS

    def parts(self, x: Tensor, layout: Layout, state: MemoryState, embedded: Tensor | None = None) -> AttentionParts:
        return self._parts(self._queries(x, embedded), layout, state)

    def output(self, parts: AttentionParts, layout: Layout, state: MemoryState) -> Tensor:
        return self._widened(super().output(parts, layout, state), layout, state)

    def _queries(self, x: Tensor, embedded: Tensor | None) -> Tensor:
        query = self.query(x)
        return self.heads.queries(query if embedded is None else (query + embedded) * HALF)


def _root_of_lengths(layout: Layout, state: MemoryState) -> Tensor:
    if isinstance(state, PackedMemory):
        lengths_B = state.layout.lengths_B
    else:
        parts = state.parts if isinstance(state, Cohorts) else (state,)
        lengths_B = torch.cat([part.lengths_A.repeat_interleave(part.fan) for part in parts])
    return layout.of_rows(lengths_B[:, None].to(torch.float32).sqrt())
