"""Attention over a memory: queries from one sequence, keys and values from another."""
# B rows  T queries  S memory positions  H query heads  G key heads  K head width

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seqloom.layers.attend import attend, attention_weights
from seqloom.layers.attention import HeadProjections, Heads
from seqloom.layers.cache import Cache
from seqloom.layers.cost import Cost, Use
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.layout.parts import parts_like, parts_of
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.paths import fast
from seqloom.layers.varlen import attend_packed, fits


class CrossAttention(Heads):
    """Each target position reads all source positions (Bahdanau et al. 2015; Vaswani et al. 2017)."""

    kind: Literal["attention"] = "attention"

    def check(self, width: int, causal: bool) -> Faults:
        return self.faults(width)

    def cost(self, width: int, use: Use) -> Cost:
        return self.head_cost(width, use.memory, keys=use.ratio)


@dataclass(frozen=True)
class PackedMemory:
    """Keys and values of a packed memory, for whole packed sequences; what steps and forks is a Cache."""

    keys_MGK: Tensor
    values_MGK: Tensor
    layout: Packed


class MemoryAttention(Mixer):
    """Its state is the memory's keys and values, projected once; it does not change from step to step."""

    needs_memory = True
    causal = True  # a step reads the memory and nothing of the other steps

    def __init__(self, settings: Heads, width: int, memory_width: int | None = None) -> None:
        super().__init__()
        refuse("attention", settings.faults(width))
        same = settings.project or (memory_width or width) == width or settings.score in ("multiplicative", "additive")
        if not same:
            raise ValueError(
                f"attention.score: '{settings.score}' compares vectors of one width; project, or use another"
            )
        self.settings = settings
        self.heads = HeadProjections(settings, width, memory_width or width)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> Cache:
        if memory is None:
            raise ValueError("attention over a memory needs a memory to start from")
        return self._cache(*self.heads.keys_values(memory.states), memory.layout)

    def begin(self, rows: int, memory: Memory | None = None) -> Cache | PackedMemory:
        if memory is not None and isinstance(memory.layout, Packed) and fast():
            return PackedMemory(*self.heads.keys_values(memory.states), memory.layout)
        return self.start(rows, memory)

    def forward(
        self, x: Tensor, layout: Layout, state: Cache | PackedMemory | None = None
    ) -> tuple[Tensor, Cache | PackedMemory | None]:
        if state is None:
            raise ValueError("attention over a memory needs the state that `start` makes from it")
        q = self.heads.queries(x)
        if isinstance(state, PackedMemory) and isinstance(layout, Packed):
            return self.heads.join(self._packed(q, layout, state)), state
        return self.heads.join(self._attended(q, layout, self._padded(state))), state

    def _packed(self, q: Tensor, layout: Packed, state: PackedMemory) -> Tensor:
        """Packed over packed: the GPU's kernel, or rows of like length together."""
        score, k, v = self.heads.score, state.keys_MGK, state.values_MGK
        if fits(q, score, Sight(), False, self._dropout, layout, state.layout):
            assert score.scale is not None
            q = score.query(q.transpose(0, 1)).transpose(0, 1)
            return attend_packed(q, k, v, layout, state.layout, score.scale, Sight())
        parts = parts_of(layout)
        if parts is None or state.layout.real_N is not None:
            return self._attended(q, layout, self._padded(state))
        memory = parts_like(state.layout, parts)
        split = zip(parts.split(q), parts.layouts, memory.split(k), memory.split(v), memory.layouts, strict=True)
        return parts.join([self._attended(q_, own, self._cache(k_, v_, other)) for q_, own, k_, v_, other in split])

    def _attended(self, q: Tensor, layout: Layout, cache: Cache) -> Tensor:
        """The heads' outputs, in the layout's own form."""
        q_BHTK, at_BT = self._asked(q, layout)
        y_BHTK = attend(
            q_BHTK,
            cache.keys_BGSK,
            cache.values_BGSK,
            score=self.heads.score,
            sight=_sight(cache),
            at_BT=at_BT,
            dropout=self._dropout,
        )
        return layout.unpad(y_BHTK.transpose(1, 2))

    @property
    def _dropout(self) -> float:
        return self.settings.dropout if self.training else 0.0

    def weights(self, x: Tensor, layout: Layout, state: Cache | PackedMemory) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left: recomputed by the equation, without dropout."""
        cache = self._padded(state)
        q_BHTK, at_BT = self._asked(self.heads.queries(x), layout)
        see_BTS = _sight(cache).mask(at_BT, cache.keys_BGSK.shape[2])
        return attention_weights(q_BHTK, cache.keys_BGSK, self.heads.score, see_BTS)

    def _asked(self, q: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        q_BHTK = layout.pad(q).transpose(1, 2)
        return self.heads.score.query(q_BHTK), torch.arange(layout.longest, device=q.device)[None]

    def _padded(self, state: Cache | PackedMemory) -> Cache:
        return state if isinstance(state, Cache) else self._cache(state.keys_MGK, state.values_MGK, state.layout)

    def _cache(self, k: Tensor, v: Tensor, layout: Layout) -> Cache:
        k_BGSK, v_BGSK = (layout.pad(part).transpose(1, 2) for part in (k, v))
        return Cache(self.heads.score.key(k_BGSK), v_BGSK, layout.lengths_B, even=layout.uniform, fixed=True)


def _sight(state: Cache) -> Sight:
    return Sight(lengths_B=None if state.even else state.lengths_B)
