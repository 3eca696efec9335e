"""Attention over a memory: queries from one sequence, keys and values from another."""
# B, R rows  A memories  T queries of a row, N of all that share a memory  S memory positions
# H query heads  G key heads  K head width

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.apart import apart
from seqloom.layers.attend import attend
from seqloom.layers.attention_parts import AttentionParts, attention_parts
from seqloom.layers.cohorts import Cohorts, Room
from seqloom.layers.cost import Cost, Use
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.forked_cache import moved
from seqloom.layers.heads import HeadProjections, Heads
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.layout.parts import parts_like, parts_of
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.native import usable
from seqloom.layers.native.attention import ATTENTION, asked, one_each, over_memory, over_rows
from seqloom.layers.native.attention import fits as fits_native
from seqloom.layers.native.block import numbers_of
from seqloom.layers.paths import fast
from seqloom.layers.scores import DotScore
from seqloom.layers.short_attention import attend_over, fits_short
from seqloom.layers.static_state import NotStaticError, Rows, Size, put_steps
from seqloom.layers.step_attention import attend_memory, fits_step
from seqloom.layers.varlen import attend_packed, fits


class CrossAttention(Heads):
    """Each target position reads all source positions (Bahdanau et al. 2015; Vaswani et al. 2017)."""

    kind: Literal["attention"] = "attention"

    def check(self, width: int, causal: bool) -> Faults:
        return self.faults(width)

    def cost(self, width: int, use: Use) -> Cost:
        return self.head_cost(width, use.memory, keys=use.ratio, memory_width=use.memory_width)


@dataclass(frozen=True)
class PackedMemory:
    """Keys and values of a packed memory, for whole packed sequences; what steps and forks is a SharedMemory."""

    keys_MGK: Tensor
    values_MGK: Tensor
    layout: Packed
    both_MGK: Tensor | None = None
    """The same side by side, where they were projected together: keys of all heads, then values."""


@dataclass(frozen=True)
class SharedMemory:
    """Keys and values of a padded memory, for steps. fan: so many rows, one after the other, read the same one."""

    keys_AGSK: Tensor
    values_AGSK: Tensor
    lengths_A: Tensor
    even: bool
    """No padding."""
    fan: int = 1
    owned: bool = False
    """Nobody else needs these tensors: rows may be moved in place."""
    filled: bool = False
    """Every row is known to hold something; False also where nobody looked."""
    static: bool = False
    """Its tensors stay what and where they are."""

    @property
    def rows(self) -> int:
        return self.lengths_A.shape[0] * self.fan

    def roomy(self, room: Room) -> "SharedMemory | Cohorts[SharedMemory]":
        made = replace(self, owned=True)
        if self.lengths_A.device.type != "cpu":
            return made
        return Cohorts(made._apart(room.sizes) if len(room.sizes) > 1 else (made,))

    def _apart(self, sizes: tuple[int, ...]) -> "tuple[SharedMemory, ...]":
        """Each part as wide as its longest memory; they lie where they lay."""
        made = []
        for keys, values, lengths_A in zip(
            self.keys_AGSK.split(sizes), self.values_AGSK.split(sizes), self.lengths_A.split(sizes), strict=True
        ):
            size = int(lengths_A.max())
            even = int(lengths_A.min()) == size
            made.append(
                replace(
                    self, keys_AGSK=keys[:, :, :size], values_AGSK=values[:, :, :size], lengths_A=lengths_A, even=even
                )
            )
        return tuple(made)

    def reorder(self, rows_R: Tensor) -> "SharedMemory":
        """Of rows that share a memory, all stay together."""
        rows_A = rows_R if self.fan == 1 else rows_R[:: self.fan] // self.fan
        if self.owned:
            keys, values = moved(rows_A, None, self.keys_AGSK, self.values_AGSK)
        else:
            keys, values = self.keys_AGSK.index_select(0, rows_A), self.values_AGSK.index_select(0, rows_A)
        lengths_A = self.lengths_A.index_select(0, rows_A)
        return replace(self, keys_AGSK=keys, values_AGSK=values, lengths_A=lengths_A)

    def fork(self, rows_R: Tensor) -> "SharedMemory":
        return self if self.fan > 1 else self.reorder(rows_R)

    def fan_out(self, times: int) -> "SharedMemory":
        return replace(self, fan=self.fan * times)

    @classmethod
    def join(cls, memories: Sequence["SharedMemory"]) -> "SharedMemory":
        if len({memory.fan for memory in memories}) > 1:
            raise ValueError("memories can only be joined with others that as many rows share")
        sizes = {memory.keys_AGSK.shape[2] for memory in memories}
        lengths_A = torch.cat([memory.lengths_A for memory in memories])
        even = len(sizes) == 1 and all(memory.even for memory in memories)
        size = max(sizes) if even or not len(lengths_A) else int(lengths_A.max())
        keys, values = (
            torch.cat([F.pad(part, (0, 0, 0, size - part.shape[2])) for part in parts])  # a negative room cuts off
            for parts in ([memory.keys_AGSK for memory in memories], [memory.values_AGSK for memory in memories])
        )
        filled = all(memory.filled for memory in memories)
        return cls(keys, values, lengths_A, even, memories[0].fan, memories[0].owned, filled)

    def for_c(self) -> "tuple[list[int], SharedMemory] | None":
        """What C must know to read it."""
        if not fits_native(self.keys_AGSK, self.values_AGSK):
            return None
        lengths_A = None if self.even else self.lengths_A
        return numbers_of(
            self.keys_AGSK, self.values_AGSK, lengths_A, self.keys_AGSK.shape[2], self.rows, self.fan
        ), self

    def static_like(self, size: Size) -> "SharedMemory":
        """One position is real in a row that nobody has filled yet: who sees nothing makes no numbers."""
        keys, values = (
            part.new_zeros(size.items, part.shape[1], size.source, part.shape[3])
            for part in (self.keys_AGSK, self.values_AGSK)
        )
        lengths_A = torch.ones(size.items, dtype=torch.int64, device=keys.device)
        return SharedMemory(keys, values, lengths_A, even=False, fan=size.fan, owned=True, filled=True, static=True)

    def first(self, items: int) -> "SharedMemory":
        parts = self.keys_AGSK[:items], self.values_AGSK[:items], self.lengths_A[:items]
        return replace(self, keys_AGSK=parts[0], values_AGSK=parts[1], lengths_A=parts[2])

    def put(self, rows: Rows, memory: "SharedMemory") -> None:
        size = memory.keys_AGSK.shape[2]
        if size > self.keys_AGSK.shape[2] or memory.fan > 1:
            raise NotStaticError(f"a memory of {size} positions in one of {self.keys_AGSK.shape[2]}")
        put_steps(self.keys_AGSK, rows.items_A, memory.keys_AGSK)
        put_steps(self.values_AGSK, rows.items_A, memory.values_AGSK)
        self.lengths_A.index_copy_(0, rows.items_A, memory.lengths_A)

    def move(self, to: Rows, origin: Rows) -> None:
        for part in (self.keys_AGSK, self.values_AGSK, self.lengths_A):
            part.index_copy_(0, to.items_A, part.index_select(0, origin.items_A))

    def settle(self, after: "SharedMemory", from_R: Tensor | None) -> None:
        """It does not change, and an item's hypotheses share it."""

    def fold(self, q_RHTK: Tensor) -> Tensor:
        """Queries of rows that share a memory as queries of one row: q_AHNK."""
        if self.fan == 1:
            return q_RHTK
        return q_RHTK.unflatten(0, (-1, self.fan)).transpose(1, 2).flatten(2, 3)

    def unfold(self, y_AHNK: Tensor) -> Tensor:
        if self.fan == 1:
            return y_AHNK
        return y_AHNK.unflatten(2, (self.fan, -1)).transpose(1, 2).flatten(0, 1)

    @property
    def sight(self) -> Sight:
        return Sight(lengths_B=None if self.even else self.lengths_A, surely=self.filled)


MemoryState = SharedMemory | PackedMemory | Cohorts[SharedMemory]


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

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> SharedMemory:
        if memory is None:
            raise ValueError("attention over a memory needs a memory to start from")
        memory = memory.unpadded or memory
        return self._shared(*self._keys_values(memory), memory.layout)

    def begin(self, rows: int, memory: Memory | None = None) -> SharedMemory | PackedMemory:
        if memory is not None and isinstance(memory.layout, Packed) and fast():
            if self.heads.project and self.heads.k_norm is None:
                both = self.heads.both(memory.states)
                keys, values = apart(both, (self.heads.G, self.heads.G))
                return PackedMemory(keys, values, memory.layout, both)
            return PackedMemory(*self._keys_values(memory), memory.layout)
        return self.start(rows, memory)

    def _keys_values(self, memory: Memory) -> tuple[Tensor, Tensor]:
        return self.heads.keys_values(memory.states)

    def forward(self, x: Tensor, layout: Layout, state: MemoryState | None = None) -> tuple[Tensor, MemoryState | None]:
        if state is None:
            raise ValueError("attention over a memory needs the state that `start` makes from it")
        return self.heads.join(self._read(self.heads.queries(x), layout, state)), state

    def _read(self, q: Tensor, layout: Layout, state: MemoryState) -> Tensor:
        """What queries find, in each head."""
        if isinstance(state, Cohorts | SharedMemory) and (y := self._stepped(q, layout, state)) is not None:
            return y
        if isinstance(state, Cohorts):
            if len(state.parts) == 1 or not isinstance(layout, Padded):
                return self._attended(q, layout, state.together())
            each = zip(q.split(state.sizes), layout.split(state.sizes), state.parts, strict=True)
            return torch.cat([self._attended(*part) for part in each])
        if isinstance(state, PackedMemory) and isinstance(layout, Packed):
            return self._packed(q, layout, state)
        if isinstance(state, SharedMemory) and state.static and fits_step(q, self.heads.score, layout):
            return self._one_step(q, state)
        return self._attended(q, layout, self._padded(state))

    def _stepped(self, q: Tensor, layout: Layout, state: Cohorts[SharedMemory] | SharedMemory) -> Tensor | None:
        """One query of each row, in C; None where the plain lines are to do it."""
        score = self.heads.score
        parts = state.parts if isinstance(state, Cohorts) else (state,)
        if not isinstance(score, DotScore) or self._dropout or not one_each(layout) or not usable():
            return None
        if not all(fits_native(part.keys_AGSK, part.values_AGSK) for part in parts):
            return None
        lib = ATTENTION.get()
        asks = None if lib is None else asked(lib, score.scale, state.rows, q)
        if asks is None:
            return None
        begin = 0
        for part in parts:
            lengths_A = None if part.even else part.lengths_A
            over_memory(asks.of(begin, part.rows), part.keys_AGSK, part.values_AGSK, lengths_A)
            begin += part.rows
        return asks.y_RHK

    def _one_step(self, q_B1HK: Tensor, state: SharedMemory) -> Tensor:
        score = self.heads.score
        assert score.scale is not None
        q_RHK = score.query(q_B1HK.transpose(1, 2))[:, :, 0]
        memory = state.keys_AGSK, state.values_AGSK, state.lengths_A
        return attend_memory(q_RHK, *memory, state.fan, score.scale)[:, None]

    def _packed(self, q: Tensor, layout: Packed, state: PackedMemory) -> Tensor:
        """Packed over packed: the GPU's kernel, or rows of like length together."""
        score, k, v = self.heads.score, state.keys_MGK, state.values_MGK
        if fits(q, score, Sight(), False, self._dropout, layout, state.layout):
            assert score.scale is not None
            q = score.query(q.transpose(0, 1)).transpose(0, 1)
            return attend_packed(q, k, v, layout, state.layout, score.scale, Sight(), self._dropout)
        both, filled = state.both_MGK, self.heads.G == self.heads.H and _filled(state.layout)
        short = fits_short(q, score, Sight(), self._dropout, self.heads.K, layout, state.layout)
        if both is not None and filled and short:
            assert score.scale is not None
            layout.check(q)
            return attend_over(q, both, layout, state.layout, score.scale, self._dropout)
        if isinstance(score, DotScore) and not self._dropout:
            layout.check(q)
            if (y := over_rows(q, k, v, layout, state.layout, score.scale, causal=False)) is not None:
                return y
        parts = parts_of(layout)
        if parts is None or state.layout.real_N is not None:
            return self._attended(q, layout, self._padded(state))
        memory = parts_like(state.layout, parts)
        split = zip(parts.split(q), parts.layouts, memory.split(k), memory.split(v), memory.layouts, strict=True)
        return parts.join([self._attended(q_, own, self._shared(k_, v_, other)) for q_, own, k_, v_, other in split])

    def _attended(self, q: Tensor, layout: Layout, memory: SharedMemory) -> Tensor:
        """The heads' outputs, in the layout's own form."""
        q_AHNK, at_AN = self._asked(q, layout, memory)
        y_AHNK = attend(
            q_AHNK,
            memory.keys_AGSK,
            memory.values_AGSK,
            score=self.heads.score,
            sight=memory.sight,
            at_BT=at_AN,
            dropout=self._dropout,
        )
        return layout.unpad(memory.unfold(y_AHNK).transpose(1, 2))

    @property
    def _dropout(self) -> float:
        return self.settings.dropout if self.training else 0.0

    def weights(self, x: Tensor, layout: Layout, state: MemoryState) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left: recomputed by the equation, without dropout."""
        return self.parts(x, layout, state).weights_BHTS

    def parts(self, x: Tensor, layout: Layout, state: MemoryState) -> AttentionParts:
        """All that this very call makes on the way, by the equation; `output` makes the result of it."""
        return self._parts(self.heads.queries(x), layout, state)

    def output(self, parts: AttentionParts, layout: Layout, state: MemoryState) -> Tensor:
        """What the layer returns, of what its heads mixed."""
        return self.heads.join(layout.unpad(parts.mixed_BHTV.transpose(1, 2)))

    def _parts(self, q: Tensor, layout: Layout, state: MemoryState) -> AttentionParts:
        memory = self._padded(state)
        q_AHNK, at_AN = self._asked(q, layout, memory)
        see_ANS = memory.sight.mask(at_AN, memory.keys_AGSK.shape[2])
        parts = attention_parts(q_AHNK, memory.keys_AGSK, memory.values_AGSK, self.heads.score, see_ANS)
        if memory.fan == 1:
            return parts
        k_BGSK, v_BGSK = (x.repeat_interleave(memory.fan, 0) for x in (parts.k_BGSK, parts.v_BGSV))
        see_BTS = None if see_ANS is None else memory.unfold(see_ANS.expand(len(q_AHNK), q_AHNK.shape[2], -1)[:, None])
        unfolded = map(memory.unfold, (parts.q_BHTK, parts.scores_BHTS, parts.weights_BHTS, parts.mixed_BHTV))
        q_BHTK, scores_BHTS, weights_BHTS, mixed_BHTV = unfolded
        see_BTS = None if see_BTS is None else see_BTS[:, 0]
        return AttentionParts(q_BHTK, k_BGSK, v_BGSK, None, scores_BHTS, see_BTS, weights_BHTS, mixed_BHTV)

    def _asked(self, q: Tensor, layout: Layout, memory: SharedMemory) -> tuple[Tensor, Tensor]:
        q_AHNK = memory.fold(layout.pad(q).transpose(1, 2))
        return self.heads.score.query(q_AHNK), torch.arange(q_AHNK.shape[2], device=q.device)[None]

    def _padded(self, state: MemoryState) -> SharedMemory:
        if isinstance(state, SharedMemory):
            return state
        if isinstance(state, Cohorts):
            return state.together()
        return self._shared(state.keys_MGK, state.values_MGK, state.layout)

    def _shared(self, k: Tensor, v: Tensor, layout: Layout) -> SharedMemory:
        k_BGSK, v_BGSK = self.heads.score.key(layout.pad_heads(k)), layout.pad_heads(v)
        unlike = k_BGSK.shape == v_BGSK.shape and k_BGSK.stride() != v_BGSK.stride()
        if unlike and v_BGSK.is_cpu and usable():
            # a norm has laid the keys anew; steps in C read both alike
            v_BGSK = torch.empty_strided(v_BGSK.shape, k_BGSK.stride(), dtype=v_BGSK.dtype).copy_(v_BGSK)
        return SharedMemory(k_BGSK, v_BGSK, layout.lengths_B, layout.uniform, filled=_filled(layout))


def _filled(layout: Layout) -> bool:
    """Every row is known to hold something: where that can be told without waiting for a device."""
    at_hand = isinstance(layout, Packed) or layout.lengths_B.device.type == "cpu"
    if not at_hand or torch.compiler.is_compiling():
        return False
    lengths_B = layout.lengths_on_host
    return lengths_B is not None and bool((lengths_B > 0).all())
