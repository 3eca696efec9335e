"""Attention over short rows on a CPU, there and back: a kernel of our own, or plain products.

The latter, where no compiler makes the kernel, are still faster than torch's tiles: all heads of all rows are gathered
once from the packed tokens, multiplied part by part, and gathered back once. No padded copy of queries, keys and values
is made, nor of their gradients.
"""
# N query tokens  M key tokens  H heads  K head width  R rows × heads of a part  T queries  S keys  L, P places

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.dropout import keeping
from seqloom.layers.gathered import Part, Plan, plan_itself, plan_over
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.masks import Sight
from seqloom.layers.native import packed_attention as native
from seqloom.layers.paths import fast
from seqloom.layers.scores import DotScore, Score

SHORT = 128  # tokens of the longest row: above it torch's kernel is as fast, and does not keep the weights
SHORT_DROPPED = 384  # the same with dropout, for which torch has no kernel on a CPU
NATIVE = 2048  # the same for our kernel, with dropout and without
EVEN = 64  # keys: from there on torch's own softmax is faster than its parts
TURNED = 128  # keys: from there on a product with turned keys is as fast as with others
BLOCK = 64  # causal: so many queries meet only the keys up to the last of them


def fits_short(x: Tensor, score: Score, sight: Sight, dropout: float, width: int, *layouts: Layout) -> bool:
    """Whether it is for this: a gradient is asked for, a dot product, nobody narrows who sees whom, rows are short.

    width: of a head.
    """
    if not (
        fast()
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and isinstance(score, DotScore)
        and sight.window is None
        and sight.block is None
    ):
        return False
    most = NATIVE if native.fits(x, width) else SHORT_DROPPED if dropout else SHORT
    return all(_plain(layout, most) for layout in layouts)


def _plain(layout: Layout, most: int) -> bool:
    known = layout.real is None and (layout.lengths_on_host is not None if isinstance(layout, Packed) else True)
    free = layout.structure_BTT is None and layout.edges is None
    return known and free and 0 < layout.longest <= most


def attend_itself(x: Tensor, layout: Layout, causal: bool, scale: float, dropout: float) -> Tensor:
    """x_…(3H)K: each token's queries, keys and values, head by head; y_NHK."""
    x = x.flatten(0, -3).contiguous()
    if native.fits(x, x.shape[2]):
        return native.attend_itself(x, layout, causal, scale, dropout)
    plan = plan_itself(layout, x.shape[1] // 3, causal)
    return _ShortAttention.apply(x, None, plan, scale, dropout)  # type: ignore[no-untyped-call]


def attend_over(q_NHK: Tensor, kv: Tensor, layout: Packed, memory: Packed, scale: float, dropout: float) -> Tensor:
    """kv_M(2H)K: keys and values of a memory; y_NHK."""
    q_NHK, kv = q_NHK.contiguous(), kv.contiguous()
    if native.fits(q_NHK, q_NHK.shape[2]):
        return native.attend_over(q_NHK, kv, layout, memory, scale, dropout)
    plan = plan_over(layout, memory, q_NHK.shape[1])
    return _ShortAttention.apply(q_NHK, kv, plan, scale, dropout)  # type: ignore[no-untyped-call]


class _ShortAttention(torch.autograd.Function):
    """y = dropout(softmax(scale · qkᵀ + hidden)) v."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, memory: Tensor | None, plan: Plan, scale: float, dropout: float) -> Tensor:
        q, k, v = _gathered(x, memory, plan)
        y, kept, growth = torch.empty_like(q), list[Tensor](), 1.0
        for part, (q_RTK, y_RTK), (k_RSK, v_RSK) in _parts(plan, (q, y), (k, v)):
            for T, S in _blocks(plan, part):
                p_RTS = _weights(q_RTK[:, T], k_RSK[:, S], part.hidden, T, S, scale)
                kept.append(p_RTS)
                if dropout:
                    mask_RTS, growth = keeping(p_RTS, dropout)
                    kept.append(mask_RTS)
                    p_RTS = _masked(p_RTS, mask_RTS, growth)
                _write(y_RTK, T, p_RTS, v_RSK[:, S])
        ctx.save_for_backward(q, k, v, *kept)
        ctx.plan, ctx.scale, ctx.dropout, ctx.growth, ctx.itself = plan, scale, dropout, growth, memory is None
        return y.index_select(0, plan.back_NH.flatten()).view(*plan.back_NH.shape, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        plan: Plan = ctx.plan
        q, k, v, *kept = ctx.saved_tensors
        dy = grads[0].contiguous().view(-1, q.shape[-1]).index_select(0, plan.take_L)
        if plan.gap_G is not None:
            dy.index_fill_(0, plan.gap_G, 0)
        places = plan.queries + 2 * plan.keys, q.shape[-1]
        # keys of rows without queries have no part that would write their gradient
        d_all = q.new_empty(places) if all(part.queries for part in plan.parts) else q.new_zeros(places)
        d_q, d_k, d_v = d_all.split([plan.queries, plan.keys, plan.keys])
        saved = iter(kept)
        for part, (q_RTK, dy_RTK, dq_RTK), keyed in _parts(plan, (q, dy, d_q), (k, v, d_k, d_v)):
            k_RSK, v_RSK, dk_RSK, dv_RSK = keyed
            for T, S in _blocks(plan, part):
                p_RTS = next(saved)
                d_RTS = torch.bmm(dy_RTK[:, T], _turned(v_RSK[:, S]))
                if ctx.dropout:
                    mask_RTS = next(saved)
                    d_RTS.mul_(mask_RTS).mul_(ctx.growth)
                    _add(dv_RSK, S, _masked(p_RTS, mask_RTS, ctx.growth), dy_RTK[:, T])
                else:
                    _add(dv_RSK, S, p_RTS, dy_RTK[:, T])
                _softmax_back(d_RTS, p_RTS)
                _write(dq_RTK, T, d_RTS, k_RSK[:, S], ctx.scale)
                _add(dk_RSK, S, d_RTS, q_RTK[:, T], ctx.scale)
        returned = [d_all.index_select(0, place_NH.flatten()).view(*place_NH.shape, -1) for place_NH in plan.back]
        return returned[0], None if ctx.itself else returned[1], None, None, None


def _gathered(x: Tensor, memory: Tensor | None, plan: Plan) -> tuple[Tensor, ...]:
    """Queries, keys and values of all places."""
    found = x.flatten(0, 1).index_select(0, plan.take[0])
    if memory is None:
        return found.split([plan.queries, plan.keys, plan.keys])
    return found, *memory.flatten(0, 1).index_select(0, plan.take[1]).split([plan.keys, plan.keys])


def _parts(
    plan: Plan, queries: Sequence[Tensor], keys: Sequence[Tensor]
) -> Iterator[tuple[Part, list[Tensor], list[Tensor]]]:
    """Each part's share of all places; rows without queries have nothing to do."""
    q_at = k_at = 0
    for part in plan.parts:
        q_end, k_end = q_at + part.rows * part.queries, k_at + part.rows * part.keys
        if not part.queries:
            k_at = k_end
            continue
        own = [x[q_at:q_end].view(part.rows, part.queries, -1) for x in queries]
        yield part, own, [x[k_at:k_end].view(part.rows, part.keys, -1) for x in keys]
        q_at, k_at = q_end, k_end


def _blocks(plan: Plan, part: Part) -> list[tuple[slice, slice]]:
    """Queries and the keys that they may see; the last ones, who see all, first."""
    if not plan.causal or part.queries <= 2 * BLOCK:
        return [(slice(0, part.queries), slice(0, part.keys))]
    return [(slice(max(0, end - BLOCK), end), slice(0, end)) for end in range(part.queries, 0, -BLOCK)]


def _weights(q_RTK: Tensor, k_RSK: Tensor, hidden: Tensor | None, T: slice, S: slice, scale: float) -> Tensor:
    """softmax(scale · qkᵀ + hidden). On short rows torch's own softmax takes six times as long as its parts."""
    k_RKS = _turned(k_RSK)
    if hidden is None:
        scores_RTS = torch.baddbmm(q_RTK.new_empty(()), q_RTK, k_RKS, beta=0, alpha=scale)
    else:
        hidden = (hidden if hidden.shape[1] == 1 else hidden[:, T])[..., S].to(q_RTK.dtype)
        scores_RTS = torch.baddbmm(hidden, q_RTK, k_RKS, alpha=scale)
    if scores_RTS.shape[2] >= EVEN:
        return torch.softmax(scores_RTS, -1, out=scores_RTS)
    scores_RTS.sub_(scores_RTS.amax(-1, keepdim=True)).exp_()
    return scores_RTS.div_(scores_RTS.sum(-1, keepdim=True))


def _softmax_back(d_RTS: Tensor, p_RTS: Tensor) -> Tensor:
    """p ⊙ (d − Σ p ⊙ d), in place."""
    if d_RTS.shape[2] >= EVEN:
        torch.ops.aten._softmax_backward_data.out(d_RTS, p_RTS, -1, p_RTS.dtype, grad_input=d_RTS)
        return d_RTS
    d_RTS.mul_(p_RTS)
    return d_RTS.addcmul_(p_RTS, d_RTS.sum(-1, keepdim=True), value=-1)


def _turned(x_RSK: Tensor) -> Tensor:
    """x_RKS. Small products with what is only seen as turned take longer than to turn it."""
    x_RKS = x_RSK.transpose(1, 2)
    return x_RKS.contiguous() if x_RKS.shape[2] < TURNED else x_RKS


def _masked(p_RTS: Tensor, mask_RTS: Tensor, growth: float) -> Tensor:
    return torch.addcmul(p_RTS.new_zeros(()), p_RTS, mask_RTS, value=growth)


def _write(to_RTK: Tensor, T: slice, a_RTS: Tensor, b_RSK: Tensor, scale: float = 1.0) -> None:
    """to[T] = scale · a b."""
    whole = a_RTS.shape[1] == to_RTK.shape[1]
    made = to_RTK if whole else to_RTK.new_empty(a_RTS.shape[0], a_RTS.shape[1], b_RSK.shape[2])
    torch.baddbmm(made, a_RTS, b_RSK, beta=0, alpha=scale, out=made)
    if not whole:  # products into a part of each row are made row by row, which is slow
        to_RTK[:, T] = made


def _add(to_RSK: Tensor, S: slice, a_RTS: Tensor, b_RTK: Tensor, scale: float = 1.0) -> None:
    """to[S] += scale · aᵀ b; a block that reaches all keys comes first, and overwrites."""
    a_RST = a_RTS.transpose(1, 2)
    if a_RTS.shape[2] == to_RSK.shape[1]:
        torch.baddbmm(to_RSK, a_RST, b_RTK, beta=0, alpha=scale, out=to_RSK)
    else:
        to_RSK[:, S].add_(torch.bmm(a_RST, b_RTK), alpha=scale)
