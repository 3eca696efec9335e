"""Memory-compressed attention: a strided convolution shortens keys and values (Liu et al. 2018, section 4.2.4)."""
# B rows  T new steps  C compressed steps  G heads  K head width  F factor

from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.attend import attend
from seqloom.layers.attention_parts import AttentionParts, attention_parts
from seqloom.layers.cache import Cache
from seqloom.layers.cost import Cost, Use, linear
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.heads import HeadProjections, Heads
from seqloom.layers.layout import Layout, Padded
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory, Mixer, no_state, no_structure
from seqloom.layers.paths import fast
from seqloom.layers.static_compressed import StaticCompressed
from seqloom.layers.static_state import Size
from seqloom.layers.step_attention import attend_groups, fits_step


class MemoryCompressed(Heads):
    """Every `factor` keys and values become one, by a convolution with that kernel and stride."""

    kind: Literal["memory-compressed"] = "memory-compressed"
    factor: int = Field(default=3, ge=1)

    def check(self, width: int, causal: bool) -> Faults:
        yield from self.faults(width)

    def cost(self, width: int, use: Use) -> Cost:
        row = self.groups * self.width_of_head(width)
        squeeze = linear(self.factor * row, row, bias=True)
        both = Cost(2 * squeeze.parameters, 2 * squeeze.flops / self.factor)
        return self.head_cost(width, use.length / self.factor, squeeze=self.factor) + both


@dataclass(frozen=True)
class CompressedState:
    """Compressed steps, and the last steps that do not fill a group of `factor` yet."""

    cache: Cache
    pending_BFC: Tensor  # keys and values side by side, flush left
    lengths_B: Tensor

    def static_like(self, size: Size) -> StaticCompressed:
        return StaticCompressed.like(self, size)

    @property
    def unbegun(self) -> bool:
        """No row has a step yet. An empty cache alone does not say so: steps may wait for their group."""
        return self.cache.keys_BGSK.shape[2] == 0 and not bool(self.lengths_B.any())


class MemoryCompressedAttention(Mixer):
    """Causal: a group is seen once it is complete, so the first factor - 1 steps see nothing and return the output
    bias alone. (The paper does not say; seeing an unfinished group would show the future.) Not causal: the last group
    of a sequence is filled up with zeros.
    """

    def __init__(self, settings: MemoryCompressed, width: int, causal: bool) -> None:
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.causal, self.factor = settings, causal, settings.factor
        self.heads = HeadProjections(settings, width)
        row = self.heads.G * self.heads.K
        self.squeeze_k = nn.Linear(self.factor * row, row)
        self.squeeze_v = nn.Linear(self.factor * row, row)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> CompressedState:
        heads, fits = self.heads, None if capacity is None else capacity // self.factor
        cache = Cache.empty(rows, heads.G, heads.K, heads.K, fits, self.anchor)
        pending_BFC = self.anchor.new_zeros(rows, self.factor - 1, 2 * heads.G * heads.K)
        return CompressedState(cache, pending_BFC, cache.lengths_B.clone())

    def forward(
        self, x: Tensor, layout: Layout, state: CompressedState | StaticCompressed | None = None
    ) -> tuple[Tensor, CompressedState | StaticCompressed | None]:
        if isinstance(state, StaticCompressed):
            return self.heads.join(self._one_step(x, layout, state)), state
        sees = layout.longest >= self.factor  # else no step sees anything
        begins = sees and (state is None or state.unbegun)
        q_BHTK, cache, at_BT, sight, state = self._meet(x, layout, state)
        if self.causal and begins and fast() and self.heads.score.scale is not None:
            y_BHTK = self._folded(q_BHTK, cache)
        else:
            y_BHTK = self._attended(q_BHTK, cache.keys_BGSK, cache.values_BGSK, at_BT, sight)
        return self.heads.join(layout.unpad(y_BHTK.transpose(1, 2))), state

    def _attended(self, q_BHTK: Tensor, k_BGCK: Tensor, v_BGCK: Tensor, at_BT: Tensor, sight: Sight) -> Tensor:
        dropout = self.settings.dropout if self.training else 0.0
        return attend(q_BHTK, k_BGCK, v_BGCK, score=self.heads.score, sight=sight, at_BT=at_BT, dropout=dropout)

    def _one_step(self, x: Tensor, layout: Layout, state: StaticCompressed) -> Tensor:
        """One step to each row, written in place: the heads' outputs y_R1HK."""
        if not (layout.uniform and layout.longest == 1):
            raise ValueError("a static cache takes one step at a time, of every row")
        q, k, v = self.heads.of_itself(x)
        q_RHK = self.heads.score.query(q.transpose(1, 2))[:, :, 0]
        step_RE = torch.cat((k.flatten(-2), v.flatten(-2)), -1)[:, 0]
        k_RG1K, v_RG1K = self._squeezed(state.group(step_RE))
        state.extend(step_RE, k_RG1K[:, :, 0], v_RG1K[:, :, 0])
        if fits_step(q, self.heads.score, layout):
            assert self.heads.score.scale is not None
            return attend_groups(q_RHK, state, self.heads.score.scale)[:, None]
        at_R1 = state.groups_R[:, None] - 1
        return self._attended(q_RHK[:, :, None], *state.seen, at_R1, Sight(causal=True)).transpose(1, 2)

    def _folded(self, q_BHTK: Tensor, cache: Cache) -> Tensor:
        """The `factor` queries that see as many groups go into rows of their own, so that each row is plainly causal:
        the kernel needs no mask. The first queries see nothing.
        """
        blind, T = self.factor - 1, q_BHTK.shape[2]
        groups = -(-(T - blind) // self.factor)
        seeing = F.pad(q_BHTK[:, :, blind:], (0, 0, 0, groups * self.factor - (T - blind)))
        q_RHCK = seeing.unflatten(2, (groups, self.factor)).permute(0, 3, 1, 2, 4).flatten(0, 1)
        k_RGCK, v_RGCK = (
            x[:, None, :, :groups].expand(-1, self.factor, -1, -1, -1).flatten(0, 1)
            for x in (cache.keys_BGSK, cache.values_BGSK)
        )
        at_BC = torch.arange(groups, device=q_BHTK.device)[None]
        y_RHCK = self._attended(q_RHCK, k_RGCK, v_RGCK, at_BC, Sight(causal=True, from_start=True))
        y_BHTK = y_RHCK.unflatten(0, (-1, self.factor)).permute(0, 2, 3, 1, 4).flatten(2, 3)
        return F.pad(y_BHTK[:, :, : T - blind], (0, 0, blind, 0))

    def weights(self, x: Tensor, layout: Layout, state: CompressedState | None = None) -> Tensor:
        """The weights over compressed steps, w_BHTC."""
        return self.parts(x, layout, state).weights_BHTS

    def parts(
        self, x: Tensor, layout: Layout, state: CompressedState | None = None, *, masked: bool = True
    ) -> AttentionParts:
        """All that this very call makes on the way, by the equation. masked: False: unfinished groups are seen too."""
        q_BHTK, cache, at_BT, sight, _ = self._meet(x, layout, state)
        groups_B = None if layout.uniform else cache.lengths_B
        sight = sight if masked else replace(sight, causal=False, lengths_B=groups_B)
        see_BTC = sight.mask(at_BT, cache.keys_BGSK.shape[2])
        return attention_parts(q_BHTK, cache.keys_BGSK, cache.values_BGSK, self.heads.score, see_BTC)

    def output(self, parts: AttentionParts, layout: Layout) -> Tensor:
        """What the layer returns, of what its heads mixed."""
        return self.heads.join(layout.unpad(parts.mixed_BHTV.transpose(1, 2)))

    def _meet(
        self, x: Tensor, layout: Layout, state: CompressedState | None
    ) -> tuple[Tensor, Cache, Tensor, Sight, CompressedState | None]:
        if not self.causal:
            no_state(self, state)
        no_structure(self, layout)
        q, k, v = self.heads.of_itself(x)
        q_BHTK = self.heads.score.query(layout.pad(q).transpose(1, 2))
        kv_BTC = layout.pad(torch.cat((k.flatten(-2), v.flatten(-2)), -1))
        at_BT = torch.arange(layout.longest, device=x.device)[None]
        if state is not None:
            at_BT = at_BT + state.lengths_B[:, None]
            state = self._continued(kv_BTC, layout, state)
            cache = state.cache
        else:
            k_BGCK, v_BGCK = self._squeezed(kv_BTC)
            groups_B = (layout.lengths_B + self.factor - 1) // self.factor
            cache = Cache(k_BGCK, v_BGCK, groups_B)
        if not self.causal:
            return q_BHTK, cache, at_BT, Sight(lengths_B=None if layout.uniform else cache.lengths_B), state
        # a query at t has seen (t + 1) // factor whole groups: to the mask, it stands at the last of them
        at_BT = (at_BT + 1) // self.factor - 1
        return q_BHTK, cache, at_BT, Sight(causal=True), state

    def _squeezed(self, kv_BTC: Tensor) -> tuple[Tensor, Tensor]:
        """Compressed keys, prepared for scoring, and values of groups of `factor` steps; zeros fill the last group."""
        fill = -kv_BTC.shape[1] % self.factor
        k_BCFR, v_BCFR = F.pad(kv_BTC, (0, 0, 0, fill)).unflatten(1, (-1, self.factor)).chunk(2, -1)
        k, v = self.squeeze_k(k_BCFR.flatten(-2)), self.squeeze_v(v_BCFR.flatten(-2))
        k_BGCK, v_BGCK = (part.unflatten(-1, (self.heads.G, -1)).transpose(1, 2) for part in (k, v))
        return self.heads.score.key(k_BGCK), v_BGCK

    def _continued(self, kv_BTC: Tensor, layout: Layout, state: CompressedState) -> CompressedState:
        """Whole groups go into the cache; what is left waits for the next call."""
        keep = self.factor - 1
        waiting_B = state.lengths_B % self.factor
        # the new steps directly behind each row's waiting ones: shift every row by its own number of them
        joined_BTC = F.pad(torch.cat((state.pending_BFC, kv_BTC), 1), (0, 0, 0, keep))
        at_T = torch.arange(keep + layout.longest, device=kv_BTC.device)
        from_BT = torch.where(at_T < waiting_B[:, None], at_T, at_T - waiting_B[:, None] + keep)
        all_BTC = _take(joined_BTC, from_BT)
        have_B = waiting_B + layout.lengths_B
        groups_B = have_B // self.factor
        whole = (keep + layout.longest) // self.factor
        squeezed = self._squeezed(all_BTC[:, : whole * self.factor])
        cache = state.cache.extend(*squeezed, Padded(groups_B, whole)) if whole else state.cache
        rest_BT = groups_B[:, None] * self.factor + torch.arange(keep, device=kv_BTC.device)
        pending_BFC = _take(F.pad(all_BTC, (0, 0, 0, keep)), rest_BT)
        return replace(state, cache=cache, pending_BFC=pending_BFC, lengths_B=state.lengths_B + layout.lengths_B)


def _take(x_BTC: Tensor, from_BT: Tensor) -> Tensor:
    return x_BTC.gather(1, from_BT[..., None].expand(-1, -1, x_BTC.shape[2]))
