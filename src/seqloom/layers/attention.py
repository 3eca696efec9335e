"""Self-attention: each position asks all others (Vaswani et al. 2017, section 3.2)."""
# B rows  T new steps  S steps in all  H query heads  G key heads  K head width  D width

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from seqloom.layers.activations import Activation, activate
from seqloom.layers.attend import attend, position_bias
from seqloom.layers.attend_edges import attend_edges
from seqloom.layers.attention_parts import AttentionParts, attention_parts
from seqloom.layers.cache import Cache
from seqloom.layers.cohorts import Cohorts
from seqloom.layers.cost import Cost, Use
from seqloom.layers.dropout import dropped
from seqloom.layers.faults import Faults, refuse
from seqloom.layers.forked_cache import ForkedCache
from seqloom.layers.heads import HeadProjections, Heads
from seqloom.layers.layout import Edges, Layout, Packed, Padded
from seqloom.layers.layout.parts import parts_of
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory, Mixer, no_state
from seqloom.layers.native import usable
from seqloom.layers.native.attention import ATTENTION, asked, one_each, over_rows
from seqloom.layers.paths import fast
from seqloom.layers.positions import T5, Music, Relative, RelativeSettings, Rotary, RotaryRelative, Shaw, build_relative
from seqloom.layers.scores import DotScore
from seqloom.layers.short_attention import attend_itself, fits_short
from seqloom.layers.static_cache import StaticCache
from seqloom.layers.step_attention import attend_step, fits_step
from seqloom.layers.varlen import attend_packed, fits


class Attention(Heads):
    """Each position reads all others that it may see, in parallel heads."""

    kind: Literal["attention"] = "attention"
    window: int | None = Field(default=None, ge=1, description="see only nearer than this many steps")
    block: int | None = Field(default=None, ge=1, description="see only within blocks of this many steps")
    relative: RelativeSettings | None = None
    input_dropout: float = Field(default=0.0, ge=0, lt=1, description="of what is read, before all else (GAT)")
    output_activation: Activation = Field(default="identity", description="of what comes out (GAT: elu)")

    def check(self, width: int, causal: bool) -> Faults:
        yield from self.faults(width)
        K = self.width_of_head(width)
        if self.window is not None and self.block is not None:
            yield "block", "a window and blocks exclude each other; keep one"
        if isinstance(self.relative, Rotary) and K % 2:
            yield "relative", f"rotary positions turn pairs of numbers, so a head's width must be even, not {K}"
        if isinstance(self.relative, Rotary) and int(K * self.relative.fraction / 2) == 0:
            yield "relative", f"a fraction of {self.relative.fraction} of a head of width {K} has no pair to turn"
        if isinstance(self.relative, Shaw | Music) and self.score == "additive":
            yield "relative", f"{self.relative.kind} positions are products with the query; the additive score has none"
        if isinstance(self.relative, T5) and self.relative.distance <= self.relative.buckets // (2 if causal else 4):
            yield "relative", "distance must be larger than the buckets that hold one distance each"

    def cost(self, width: int, use: Use) -> Cost:
        seen = use.length if self.block is None else min(use.length, self.block)
        if self.window is not None:
            seen = min(seen, self.window if use.causal else 2 * self.window - 1)
        K = self.width_of_head(width)
        relative = 0 if self.relative is None else self.relative.parameters(self.heads, K)
        flops = 0.0
        if isinstance(self.relative, Shaw):
            flops = 2 * self.heads * K * (2 * self.relative.distance + 1) * (2 if self.relative.values else 1)
        if isinstance(self.relative, Music):
            flops = 2 * self.heads * K * (2 * self.relative.distance - 1)
        return self.head_cost(width, seen) + Cost(relative, flops)


ALL = Sight()
"""Nothing is hidden."""

Steps = Cache | ForkedCache
"""The steps so far."""
StepsState = Steps | Cohorts[Steps] | StaticCache


@dataclass(frozen=True)
class Meeting:
    """Queries and the keys and values that they meet, ready to be scored."""

    q_BHTK: Tensor
    k_BGSK: Tensor
    v_BGSV: Tensor
    at_BT: Tensor
    sight: Sight
    state: Steps | None


class SelfAttention(Mixer):
    def __init__(self, settings: Attention, width: int, causal: bool, relative: Relative | None = None) -> None:
        """relative: a module shared with other layers; otherwise the settings say what to build."""
        super().__init__()
        refuse(settings.kind, settings.check(width, causal))
        self.settings, self.width, self.causal = settings, width, causal
        self.heads = HeadProjections(settings, width)
        if relative is None and settings.relative is not None:
            relative = build_relative(settings.relative, self.heads.H, self.heads.K, causal)
        self.relative = relative
        self.finish = activate(settings.output_activation)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> Cache:
        empty = Cache.empty(rows, self.heads.G, self.heads.K, self.heads.K, capacity, self.anchor)
        return replace(empty, forks=not self._biased, apart=empty.lengths_B.device.type == "cpu")

    @property
    def _biased(self) -> bool:
        """Relative positions are seen by the scores, not by the keys alone."""
        return self.relative is not None and not isinstance(self.relative, RotaryRelative)

    def forward(self, x: Tensor, layout: Layout, state: StepsState | None = None) -> tuple[Tensor, StepsState | None]:
        if self.training and self.settings.input_dropout:
            x = dropped(x, self.settings.input_dropout)
        y, state = self._read(x, layout, state)
        return self.finish(y), state

    def _read(self, x: Tensor, layout: Layout, state: StepsState | None) -> tuple[Tensor, StepsState | None]:
        if state is None and self._short(x, layout):
            return self.heads.join(self._gathered(x, layout)), None
        q, k, v = self._turned(x, layout, state, self.relative)
        if layout.edges is not None:
            y, state = self._along(q, k, v, layout, layout.edges), None
        elif state is None and isinstance(layout, Packed):
            y = self._packed(q, k, v, layout)
        else:
            y, state = self._continued(q, k, v, layout, state)
        return self.heads.join(y), state

    def _continued(
        self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: StepsState | None
    ) -> tuple[Tensor, StepsState | None]:
        """The heads' outputs of steps that come behind others, in the layout's own form."""
        if isinstance(state, StaticCache):
            return self._one_step(q, k, v, layout, state), state
        stepped = None if state is None else self._stepped(q, k, v, layout, state)
        if stepped is not None:
            return stepped
        if isinstance(state, Cohorts):
            return self._cohorts(q, k, v, layout, state)
        return self._attended(q, k, v, layout, state)

    def _packed(self, q: Tensor, k: Tensor, v: Tensor, layout: Packed) -> Tensor:
        """The heads' outputs of whole sequences: as they lie, where a kernel can, or padded in parts."""
        score, sight, dropout = self.heads.score, self._sight(layout), self._dropout
        if fits(q, score, sight, self._biased, dropout, layout):
            assert score.scale is not None
            q = score.query(q.transpose(0, 1)).transpose(0, 1)
            return attend_packed(q, k, v, layout, layout, score.scale, sight, dropout)
        free = not self.limited and _structure(layout) is None and not dropout
        if free and isinstance(score, DotScore):
            layout.check(q)
            if (mixed := over_rows(q, k, v, layout, layout, score.scale, self.causal)) is not None:
                return mixed
        parts = parts_of(layout) if fast() else None
        if parts is None:
            return self._attended(q, k, v, layout, None)[0]
        split = zip(parts.split(q), parts.split(k), parts.split(v), parts.layouts, strict=True)
        return parts.join([self._attended(*part, None)[0] for part in split])

    @property
    def _dropout(self) -> float:
        return self.settings.dropout if self.training else 0.0

    def _short(self, x: Tensor, layout: Layout) -> bool:
        even = self.heads.G == self.heads.H and self.heads.project and not self._biased
        return even and fits_short(x, self.heads.score, self._sight(layout), self._dropout, self.heads.K, layout)

    def _gathered(self, x: Tensor, layout: Layout) -> Tensor:
        """Short rows on a CPU: the heads' outputs, in the layout's own form."""
        layout.check(x)
        if self.relative is None and self.heads.q_norm is None:
            heads = self.heads.side_by_side(x)
        else:
            heads = torch.cat(self._turned(x, layout, None, self.relative), -2)
        scale = self.heads.score.scale
        assert scale is not None
        y_NHK = attend_itself(heads, layout, self.causal, scale, self._dropout)
        return y_NHK.view(*x.shape[:-1], self.heads.H, self.heads.K)

    def _stepped(
        self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: Steps | Cohorts[Steps]
    ) -> tuple[Tensor, StepsState] | None:
        """One step of each row onto its own past, in C; None where the plain lines are to do it."""
        layout.check(q)
        score = self.heads.score
        if self.limited or not isinstance(score, DotScore) or self._dropout or not one_each(layout) or not usable():
            return None
        lib = ATTENTION.get() if q.is_cpu else None
        asks = None if lib is None else asked(lib, score.scale, state.rows, q, k, v)
        if asks is None:
            return None
        if not isinstance(state, Cohorts):
            one = state.stepped(asks)
            return None if one is None else (asks.y_RHK, one)
        begins = accumulate(state.sizes, initial=0)
        each = [part.stepped(asks.of(begin, part.rows)) for part, begin in zip(state.parts, begins, strict=False)]
        parts = tuple(part for part in each if part is not None)
        return (asks.y_RHK, Cohorts(parts)) if len(parts) == len(each) else None

    def _cohorts(
        self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: Cohorts[Steps]
    ) -> tuple[Tensor, Cohorts[Steps]]:
        if len(state.parts) == 1 or not isinstance(layout, Padded):
            y, after = self._attended(q, k, v, layout, state.together())
            assert after is not None
            return y, Cohorts((after,))
        split = zip(*(x.split(state.sizes) for x in (q, k, v)), layout.split(state.sizes), state.parts, strict=True)
        each = [self._attended(*part) for part in split]
        return torch.cat([y for y, _ in each]), Cohorts(tuple(after for _, after in each if after is not None))

    def _attended(
        self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: Steps | None
    ) -> tuple[Tensor, Steps | None]:
        """The heads' outputs, in the layout's own form."""
        meet = self._meet(q, k, v, layout, state)
        y_BHTK = attend(
            meet.q_BHTK,
            meet.k_BGSK,
            meet.v_BGSV,
            score=self.heads.score,
            sight=meet.sight,
            at_BT=meet.at_BT,
            relative=self.relative,
            dropout=self._dropout,
        )
        y_BHTK = meet.state.unfold(y_BHTK) if isinstance(meet.state, ForkedCache) else y_BHTK
        return layout.unpad(y_BHTK.transpose(1, 2)), meet.state

    def _one_step(self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: StaticCache) -> Tensor:
        """One step to each row, written in place: the heads' outputs y_R1HK."""
        if not (layout.uniform and layout.longest == 1):
            raise ValueError("a static cache takes one step at a time, of every row")
        score, window, block = self.heads.score, self.settings.window, self.settings.block
        q_RHK, k_RGK, v_RGK = score.query(q.transpose(1, 2))[:, :, 0], score.key(k.transpose(1, 2))[:, :, 0], v[:, 0]
        if not self._biased and fits_step(q, score, layout):
            assert score.scale is not None
            return attend_step(q_RHK, k_RGK, v_RGK, state, score.scale, window, block)[:, None]
        state.extend(k_RGK, v_RGK)
        sight = Sight(causal=True, window=window, block=block, surely=True)
        at_R1 = state.lengths_B[:, None]
        y_RH1K = attend(q_RHK[:, :, None], *state.seen, score=score, sight=sight, at_BT=at_R1, relative=self.relative)
        return y_RH1K.transpose(1, 2)

    def _along(self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, edges: Edges) -> Tensor:
        """The heads' outputs of a graph, in the layout's own form."""
        if self._biased or self.causal or self.settings.window is not None or self.settings.block is not None:
            raise ValueError("edges say who sees whom: a window, blocks, a causal mask or relative positions do too")
        q_MHK, k_MGK, v_MGK = (layout.pad(part).flatten(0, 1) for part in (q, k, v))
        y_MHK = attend_edges(q_MHK, k_MGK, v_MGK, *edges.slots(layout.longest), self.heads.score, self._dropout)
        return layout.unpad(y_MHK.unflatten(0, (layout.rows, layout.longest)))

    def weights(self, x: Tensor, layout: Layout, state: StepsState | None = None) -> Tensor:
        """The attention weights of this very call, w_BHTS, flush left: recomputed by the equation, without dropout."""
        return self.parts(x, layout, state).weights_BHTS

    def parts(
        self,
        x: Tensor,
        layout: Layout,
        state: StepsState | None = None,
        *,
        masked: bool = True,
        placed: bool = True,
    ) -> AttentionParts:
        """All that this very call makes on the way, by the equation; `output` makes the result of it.

        masked: False: as if the future were not hidden. placed: False: as if it had no relative positions.
        """
        state = state.together() if isinstance(state, Cohorts) else state
        if isinstance(state, ForkedCache | StaticCache):
            raise ValueError("hypotheses that fork have no weights of their own; ask before they are fanned out")
        relative = self.relative if placed else None
        meet = self._meet(*self._turned(x, layout, state, relative), layout, state)
        sight = meet.sight if masked else replace(meet.sight, causal=False)
        keys = meet.k_BGSK.shape[2]
        bias = position_bias(relative, meet.q_BHTK, meet.at_BT, keys, sight, self.heads.score)
        see_BTS = sight.mask(meet.at_BT, keys)
        return attention_parts(
            meet.q_BHTK, meet.k_BGSK, meet.v_BGSV, self.heads.score, see_BTS, bias, relative, meet.at_BT
        )

    def output(self, parts: AttentionParts, layout: Layout) -> Tensor:
        """What the layer returns, of what its heads mixed."""
        return self.finish(self.heads.join(layout.unpad(parts.mixed_BHTV.transpose(1, 2))))

    def _turned(
        self, x: Tensor, layout: Layout, state: StepsState | None, relative: Relative | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values in the layout's own form, turned by their positions if these are rotary."""
        if not self.causal:
            no_state(self, state)
        if state is not None and (layout.structure_BTT is not None or layout.edges is not None):
            raise ValueError("a structure says who sees whom in a whole sequence; it cannot be used step by step")
        q, k, v = self.heads.of_itself(x)
        if relative is not None:
            at = layout.places(None if state is None else _lengths(state))
            q, k = relative.turn(q, at), relative.turn(k, at)
        return q, k, v

    def _meet(self, q: Tensor, k: Tensor, v: Tensor, layout: Layout, state: Steps | None) -> Meeting:
        q_BHTK, k_BGTK, v_BGTK = (layout.pad(part).transpose(1, 2) for part in (q, k, v))
        q_BHTK, k_BGTK = self.heads.score.query(q_BHTK), self.heads.score.key(k_BGTK)
        if isinstance(state, Cache) and self._sees_all(layout, state):
            state = state.extend(k_BGTK, v_BGTK, layout)
            return Meeting(q_BHTK, *state.seen, state.lengths_B, ALL, state)
        at_BT = torch.arange(layout.longest, device=q.device)[None]
        if state is None:
            return Meeting(q_BHTK, k_BGTK, v_BGTK, at_BT, self._sight(layout), None)
        if layout.longest > 1 and isinstance(state, Cache) and state.keys_BGSK.shape[2] == 0:
            # nothing has gone before: a whole prompt needs no mask of its square either
            extended = state.extend(k_BGTK, v_BGTK, layout)
            return Meeting(q_BHTK, k_BGTK, v_BGTK, at_BT, self._sight(layout), extended)
        at_BT = at_BT + state.lengths_B[:, None]
        state = state.extend(k_BGTK, v_BGTK, layout)
        if isinstance(state, ForkedCache):
            sight = Sight(causal=True, window=self.settings.window, block=self.settings.block)
            see_BTS = sight.mask(at_BT, state.writer_AKS.shape[2])
            assert see_BTS is not None
            forked = Sight(structure_BTS=state.sees(see_BTS))
            return Meeting(state.fold(q_BHTK), *state.all_steps, at_BT, forked, state)
        # one step onto even rows sees all there is, unless a window or block says otherwise
        causal = not (state.even and layout.longest == 1)
        # and, alone, sees at least itself
        window, block = self.settings.window, self.settings.block
        sight = Sight(causal=causal, window=window, block=block, surely=layout.uniform and layout.longest == 1)
        return Meeting(q_BHTK, *state.seen, at_BT, sight, state)

    def _sees_all(self, layout: Layout, state: Cache) -> bool:
        """One step onto even rows, with no window, block or distance to look at: there is nothing to hide."""
        return state.even and layout.longest == 1 and layout.uniform and not self.limited

    @property
    def limited(self) -> bool:
        return self.settings.window is not None or self.settings.block is not None or self._biased

    def _sight(self, layout: Layout) -> Sight:
        needs_ends = not self.causal and not layout.uniform
        return Sight(
            causal=self.causal,
            window=self.settings.window,
            block=self.settings.block,
            lengths_B=layout.lengths_B if needs_ends else None,
            structure_BTS=_structure(layout),
            from_start=True,
        )


def _structure(layout: Layout) -> Tensor | None:
    """Of a graph whose edges are listed, the square too, for whoever asks for weights."""
    return layout.structure_BTT if layout.edges is None else layout.edges.structure(layout.rows, layout.longest)


def _lengths(state: StepsState) -> Tensor:
    return torch.cat([part.lengths_B for part in state.parts]) if isinstance(state, Cohorts) else state.lengths_B
