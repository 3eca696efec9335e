"""Attention over a memory: queries from one sequence, keys and values from another."""
# B rows  T queries  S memory positions  H query heads  G key heads  K head width

from typing import Literal

import torch
from torch import Tensor

from seqloom.layers.attend import attend, attention_weights
from seqloom.layers.attention import HeadProjections, Heads
from seqloom.layers.cache import Cache
from seqloom.layers.cost import Cost, Use
from seqloom.layers.faults import Faults
from seqloom.layers.layout import Layout
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory, Mixer


class CrossAttention(Heads):
    """Each target position reads all source positions (Bahdanau et al. 2015; Vaswani et al. 2017)."""

    kind: Literal["attention"] = "attention"

    def check(self, width: int, causal: bool) -> Faults:
        return self.faults(width)

    def cost(self, width: int, use: Use) -> Cost:
        return self.head_cost(width, use.memory, keys=use.ratio)


class MemoryAttention(Mixer):
    """Its state is the memory's keys and values, projected once; it does not change from step to step."""

    needs_memory = True
    causal = True  # a step reads the memory and nothing of the other steps

    def __init__(self, settings: Heads, width: int, memory_width: int | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.heads = HeadProjections(settings, width, memory_width or width)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> Cache:
        if memory is None:
            raise ValueError("attention over a memory needs a memory to start from")
        k, v = self.heads.keys_values(memory.states)
        k_BGSK, v_BGSK = (memory.layout.pad(part).transpose(1, 2) for part in (k, v))
        return Cache(self.heads.score.key(k_BGSK), v_BGSK, memory.layout.lengths_B, even=memory.layout.uniform)

    def forward(self, x: Tensor, layout: Layout, state: Cache | None = None) -> tuple[Tensor, Cache | None]:
        q_BHTK, at_BT, state = self._queries(x, layout, state)
        y_BHTK = attend(
            q_BHTK,
            state.keys_BGSK,
            state.values_BGSK,
            score=self.heads.score,
            sight=_sight(state),
            at_BT=at_BT,
            dropout=self.settings.dropout if self.training else 0.0,
        )
        return self.heads.join(layout.unpad(y_BHTK.transpose(1, 2))), state

    def weights(self, x: Tensor, layout: Layout, state: Cache | None = None) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left: recomputed by the equation, without dropout."""
        q_BHTK, at_BT, state = self._queries(x, layout, state)
        see_BTS = _sight(state).mask(at_BT, state.keys_BGSK.shape[2])
        return attention_weights(q_BHTK, state.keys_BGSK, self.heads.score, see_BTS)

    def _queries(self, x: Tensor, layout: Layout, state: Cache | None) -> tuple[Tensor, Tensor, Cache]:
        if state is None:
            raise ValueError("attention over a memory needs the state that `start` makes from it")
        q_BHTK = layout.pad(self.heads.queries(x)).transpose(1, 2)
        return self.heads.score.query(q_BHTK), torch.arange(layout.longest, device=x.device)[None], state


def _sight(state: Cache) -> Sight:
    return Sight(lengths_B=None if state.even else state.lengths_B)
