"""The likeliest tokens of each row and how likely they are, in one pass over the scores of all.

Parts of a row are looked through side by side, each for its own best; of these the best are taken. The softmax of the
whole vocabulary is never written down: of it only its sum is needed.
"""
# R rows  V tokens  P parts of a row  C tokens that are looked for

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST = 64  # tokens of each row: they are looked for one after the other


@triton.jit
def _parts(  # type: ignore[no-untyped-def]
    x_ptr, never_ptr, value_ptr, place_ptr, most_ptr, sum_ptr, V, parts,
    C: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    inside = at < V
    x = tl.load(x_ptr + row * V + at, mask=inside, other=float("-inf")).to(tl.float32)
    most = tl.max(x, 0)
    # a part in which nothing is likely has the sum 0, and not -inf minus -inf
    total = tl.sum(tl.exp(x - tl.where(most == float("-inf"), 0.0, most)), 0)
    tl.store(most_ptr + row * parts + part, most)
    tl.store(sum_ptr + row * parts + part, total)
    never = tl.load(never_ptr + at, mask=inside, other=1)
    x = tl.where(never != 0, float("-inf"), x)
    for c in tl.static_range(C):
        best = tl.max(x, 0)
        place = tl.min(tl.where(x == best, at, V - 1), 0)  # of equals the lowest
        tl.store(value_ptr + (row * parts + part) * C + c, best)
        tl.store(place_ptr + (row * parts + part) * C + c, place)
        x = tl.where(at == place, float("-inf"), x)


@triton.jit
def _whole(  # type: ignore[no-untyped-def]
    value_ptr, place_ptr, most_ptr, sum_ptr, log_prob_ptr, token_ptr, parts,
    C: tl.constexpr, PARTS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    most = tl.load(most_ptr + row * parts + part, mask=part < parts, other=float("-inf"))
    total = tl.load(sum_ptr + row * parts + part, mask=part < parts, other=0.0)
    top = tl.max(most, 0)
    whole = top + tl.log(tl.sum(total * tl.exp(most - top), 0))
    n = tl.arange(0, SIZE)
    inside = n < parts * C
    value = tl.load(value_ptr + row * parts * C + n, mask=inside, other=float("-inf"))
    place = tl.load(place_ptr + row * parts * C + n, mask=inside, other=0)
    for c in tl.static_range(C):
        best = tl.max(value, 0)
        # parts stand in their order, and equals of a part in theirs
        first = tl.min(tl.where(value == best, n, SIZE - 1), 0)
        tl.store(log_prob_ptr + row * C + c, best - whole)
        tl.store(token_ptr + row * C + c, tl.sum(tl.where(n == first, place, 0), 0).to(tl.int64))
        value = tl.where(n == first, float("-inf"), value)


def likeliest_tokens(scores_RV: Tensor, never_V: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """log_prob_RC in float32 and token_RC, best first; of equals the lower token. A row with a NaN has only NaN.

    never_V: not 0: never taken, though it has its share of the softmax.
    """
    R, V = scores_RV.shape
    block = 4096 if count == 1 else 2048
    parts = triton.cdiv(V, block)
    scores_RV = scores_RV.contiguous()
    value_RPC = torch.empty(R, parts, count, device=scores_RV.device)
    place_RPC = torch.empty(R, parts, count, dtype=torch.int32, device=scores_RV.device)
    most_RP, sum_RP = torch.empty(2, R, parts, device=scores_RV.device)
    log_prob_RC = torch.empty(R, count, device=scores_RV.device)
    token_RC = torch.empty(R, count, dtype=torch.int64, device=scores_RV.device)
    _parts[(R, parts)](
        scores_RV, never_V, value_RPC, place_RPC, most_RP, sum_RP, V, parts, count, block, num_warps=4
    )  # fmt: skip
    size = max(16, triton.next_power_of_2(parts * count))
    _whole[(R,)](
        value_RPC, place_RPC, most_RP, sum_RP, log_prob_RC, token_RC, parts,
        count, max(16, triton.next_power_of_2(parts)), size, num_warps=max(1, min(8, size // 256)),
    )  # fmt: skip
    return log_prob_RC, token_RC
