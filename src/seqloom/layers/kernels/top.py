"""The likeliest tokens of each row and how likely they are, in one pass over the scores of all.

Tokens are looked through in groups: what is among the best so many tokens stands in one of as many groups, those with
the best of all. These are found first, and only they are looked into. The softmax of the whole vocabulary is never
written down: of it only its sum is needed.
"""
# R rows  V tokens  P parts of a row  G groups of a row  C tokens that are looked for

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST = 64  # tokens of each row: they are looked for one after the other
GROUP = 64  # tokens of a group
PART = 64  # groups that a program has in hand


@triton.jit
def _grouped(  # type: ignore[no-untyped-def]
    x_ptr, never_ptr, group_ptr, most_ptr, sum_ptr, V, parts, PART: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    group = part * PART + tl.arange(0, PART)
    at = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    inside = at < V
    x = tl.load(x_ptr + row * V + at, mask=inside, other=float("-inf")).to(tl.float32)
    most = tl.max(tl.max(x, 1), 0)
    # a part in which nothing is likely has the sum 0, and not -inf minus -inf
    total = tl.sum(tl.sum(tl.exp(x - tl.where(most == float("-inf"), 0.0, most)), 1), 0)
    tl.store(most_ptr + row * parts + part, most)
    tl.store(sum_ptr + row * parts + part, total)
    never = tl.load(never_ptr + at, mask=inside, other=1)
    best = tl.max(tl.where(never != 0, float("-inf"), x), 1)
    tl.store(group_ptr + row * parts * PART + group, best)


@triton.jit
def _picked(  # type: ignore[no-untyped-def]
    x_ptr, never_ptr, group_ptr, most_ptr, sum_ptr, log_prob_ptr, token_ptr, V, parts, groups,
    C: tl.constexpr, TAKEN: tl.constexpr, PARTS: tl.constexpr, GROUPS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    most = tl.load(most_ptr + row * parts + part, mask=part < parts, other=float("-inf"))
    total = tl.load(sum_ptr + row * parts + part, mask=part < parts, other=0.0)
    top = tl.max(most, 0)
    whole = top + tl.log(tl.sum(total * tl.exp(most - top), 0))
    group = tl.arange(0, GROUPS)
    best_of = tl.load(group_ptr + row * groups + group, mask=group < groups, other=float("-inf"))
    number = tl.arange(0, TAKEN)
    taken = tl.zeros([TAKEN], dtype=tl.int32)
    for c in tl.static_range(C):
        best = tl.max(best_of, 0)
        first = tl.min(tl.where(best_of == best, group, GROUPS - 1), 0)  # of equals the lowest
        taken = tl.where(number == c, first, taken)
        best_of = tl.where(group == first, float("-inf"), best_of)
    at = taken[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    real = (number < C)[:, None] & (at < V)
    x = tl.load(x_ptr + row * V + at, mask=real, other=float("-inf")).to(tl.float32)
    never = tl.load(never_ptr + at, mask=real, other=1)
    x = tl.where(never != 0, float("-inf"), x)
    for c in tl.static_range(C):
        best = tl.max(tl.max(x, 1), 0)
        token = tl.min(tl.min(tl.where(x == best, at, V - 1), 1), 0)
        tl.store(log_prob_ptr + row * C + c, best - whole)
        tl.store(token_ptr + row * C + c, token.to(tl.int64))
        x = tl.where(at == token, float("-inf"), x)


def likeliest_tokens(scores_RV: Tensor, never_V: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """log_prob_RC in float32 and token_RC, best first; of equals the lower token. A row with a NaN has only NaN.

    never_V: not 0: never taken, though it has its share of the softmax.
    """
    R, V = scores_RV.shape
    parts = triton.cdiv(V, PART * GROUP)
    groups = parts * PART
    scores_RV = scores_RV.contiguous()
    group_RG = torch.empty(R, groups, device=scores_RV.device)
    most_RP, sum_RP = torch.empty(2, R, parts, device=scores_RV.device)
    log_prob_RC = torch.empty(R, count, device=scores_RV.device)
    token_RC = torch.empty(R, count, dtype=torch.int64, device=scores_RV.device)
    _grouped[(R, parts)](scores_RV, never_V, group_RG, most_RP, sum_RP, V, parts, PART, GROUP, num_warps=4)
    wide = triton.next_power_of_2(groups)
    _picked[(R,)](
        scores_RV, never_V, group_RG, most_RP, sum_RP, log_prob_RC, token_RC, V, parts, groups,
        count, triton.next_power_of_2(count), max(16, triton.next_power_of_2(parts)), wide, GROUP,
        num_warps=1 if wide <= 1024 and count <= 16 else 4,
    )  # fmt: skip
    return log_prob_RC, token_RC
