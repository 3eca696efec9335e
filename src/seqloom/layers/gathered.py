"""Where the heads of a batch's tokens go, so that rows of like length are multiplied together, and how they return."""
# N query tokens  M key tokens  H heads  K head width  B rows of a part  T queries and S keys of its longest row

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from seqloom.layers.layout import Layout, Packed
from seqloom.layers.layout.parts import parts_of

HIDDEN = -1e30  # added to the score of what nobody sees: finite, so that rows of filler make no NaN


@dataclass(frozen=True)
class Side:
    """One sequence's heads, gathered: for each part its rows, in each its heads, in each its steps."""

    shapes: tuple[tuple[int, int], ...]  # rows and steps of each part
    token_L: Tensor  # which token each place takes; behind a row's end its last one
    head_L: Tensor
    place_NH: Tensor  # the place of each head of each token
    gap_G: Tensor | None  # the places behind the rows' ends
    ends: tuple[Tensor | None, ...]  # the lengths of each part's rows; None: all as long as the longest

    def take(self, heads: int, first: int = 0) -> Tensor:
        """The places' heads in a tensor that has so many heads a token, this side's from the first on."""
        return self.token_L * heads + self.head_L + first


@dataclass(frozen=True)
class Part:
    """Rows that are multiplied together, and what is added to their scores: R = B · H."""

    rows: int
    queries: int
    keys: int
    hidden: Tensor | None  # hidden_1TS (causal) or hidden_R1S; None: all is seen


@dataclass(frozen=True)
class Plan:
    """What is gathered: queries, keys and values, one behind the other, from one tensor or from two."""

    parts: tuple[Part, ...]
    causal: bool
    queries: int  # places of queries; there are as many of keys as of values
    keys: int
    take: tuple[Tensor, ...]  # which head goes to each place, for each tensor
    back: tuple[Tensor, ...]  # and the place of each head
    take_L: Tensor  # as for the queries, in a tensor of nothing else
    back_NH: Tensor
    gap_G: Tensor | None  # places of queries that stand behind a row's end


def plan_itself(layout: Layout, heads: int, causal: bool) -> Plan:
    """Each row over itself."""
    if not isinstance(layout, Packed):
        return _even(layout.rows, layout.longest, heads, causal)
    known = "gathered", heads, causal
    if known not in layout.memo:
        side = _side(layout, _rows(layout), heads)
        layout.memo[known] = _plan(side, side, heads, causal, itself=True)
    plan: Plan = layout.memo[known]
    return plan


def plan_over(layout: Packed, memory: Packed, heads: int) -> Plan:
    """Each row over its own memory."""
    known = "gathered over", heads, id(memory)
    if known not in layout.memo:
        rows = _rows(layout)
        # the other layout is kept too, as its number would be given to another when it is gone
        query, key = _side(layout, rows, heads), _side(memory, rows, heads)
        layout.memo[known] = memory, _plan(query, key, heads, causal=False, itself=False)
    plan: Plan = layout.memo[known][1]
    return plan


@lru_cache(maxsize=8)
def _even(rows: int, steps: int, heads: int, causal: bool) -> Plan:
    layout = Packed.of([steps] * rows)
    side = _side(layout, _rows(layout), heads)
    return _plan(side, side, heads, causal, itself=True)


def _rows(layout: Packed) -> tuple[Tensor, ...]:
    """Which rows go together."""
    parts = parts_of(layout)
    return (torch.arange(layout.rows),) if parts is None else parts.rows


def _side(layout: Packed, rows: Sequence[Tensor], heads: int) -> Side:
    lengths_B = layout.lengths_host_B
    assert lengths_B is not None
    begins_B, head_H = lengths_B.cumsum(0) - lengths_B, torch.arange(heads)
    total = int(lengths_B.sum())
    place_NH = torch.empty(total, heads, dtype=torch.int64)
    tokens, owners, gaps, shapes, ends = [], [], [], [], list[Tensor | None]()
    before = 0
    for row_B in rows:
        own_B, T = lengths_B[row_B], int(lengths_B[row_B].max()) if len(row_B) else 0
        step_T = torch.arange(T)
        token_BT = begins_B[row_B, None] + torch.minimum(step_T, (own_B[:, None] - 1).clamp(min=0))
        shape = len(row_B), heads, T
        at_BHT = before + torch.arange(len(row_B) * heads * T).view(shape)
        real_BT = step_T < own_B[:, None]
        place_NH[token_BT[real_BT]] = at_BHT.transpose(1, 2)[real_BT]
        tokens.append(token_BT.clamp(max=max(total - 1, 0))[:, None].expand(shape).flatten())
        owners.append(head_H[:, None].expand(shape).flatten())
        gaps.append(at_BHT[(~real_BT)[:, None].expand(shape)])
        ends.append(None if bool(real_BT.all()) else own_B)
        shapes.append((len(row_B), T))
        before += at_BHT.numel()
    gap_G = torch.cat(gaps)
    return Side(
        tuple(shapes), torch.cat(tokens), torch.cat(owners), place_NH, gap_G if len(gap_G) else None, tuple(ends)
    )


def _plan(query: Side, key: Side, heads: int, causal: bool, itself: bool) -> Plan:
    Q, S = len(query.token_L), len(key.token_L)
    take: tuple[Tensor, ...]
    back: tuple[Tensor, ...]
    if itself:
        taken = torch.cat((query.take(3 * heads), key.take(3 * heads, heads), key.take(3 * heads, 2 * heads)))
        placed = torch.cat((query.place_NH, Q + key.place_NH, Q + S + key.place_NH), 1)
        take, back = (taken,), (placed,)
    else:
        taken = torch.cat((key.take(2 * heads), key.take(2 * heads, heads)))
        placed = torch.cat((Q + key.place_NH, Q + S + key.place_NH), 1)
        take, back = (query.take(heads), taken), (query.place_NH, placed)
    return Plan(
        _parts(query, key, heads, causal), causal, Q, S, take, back, query.take(heads), query.place_NH, query.gap_G
    )


def _parts(query: Side, key: Side, heads: int, causal: bool) -> tuple[Part, ...]:
    parts = []
    for (rows, T), (_, S), ends in zip(query.shapes, key.shapes, key.ends, strict=True):
        hidden = None
        if causal:  # what stands behind a row's end is in every real query's future
            hidden = torch.full((T, S), HIDDEN).triu(1)[None]
        elif ends is not None:
            seen_BS = torch.arange(S) < ends[:, None]
            hidden = torch.zeros(rows, S).masked_fill_(~seen_BS, HIDDEN)[:, None, None]
            hidden = hidden.expand(rows, heads, 1, S).reshape(rows * heads, 1, S)
        parts.append(Part(rows * heads, T, S, hidden))
    return tuple(parts)
