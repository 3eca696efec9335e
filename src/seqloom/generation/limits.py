"""Which tokens may not follow: what is shorter than it may be, what departs from its prefix, what repeats itself."""
# A items  K hypotheses to each  R = A·K rows  V tokens  P tokens of a prefix

import torch
from torch import Tensor

from seqloom.generation.hypotheses import NOTHING, Hypotheses


def limited(given_RV: Tensor, h: Hypotheses, end: int, soonest: int) -> Tensor:
    """The log_probs with -inf for what may not follow. soonest: the fewest tokens that an item has so far."""
    allowed_RV = given_RV
    if soonest < h.shortest:
        early_R = (h.step_A < h.shortest_A).repeat_interleave(h.beam)
        allowed_RV = allowed_RV.clone()
        allowed_RV[:, end].masked_fill_(early_R, NOTHING)
    if soonest < h.prefix_AP.shape[1]:
        allowed_RV = _forced(allowed_RV, given_RV, h)
    return allowed_RV


def _forced(log_probs_RV: Tensor, given_RV: Tensor, h: Hypotheses) -> Tensor:
    """Only the prefix's own next token, while there is one; whatever else is forbidden."""
    room = h.prefix_AP.shape[1]
    next_A = h.prefix_AP.gather(1, h.step_A.clamp(max=room - 1)[:, None])[:, 0]
    next_A = torch.where(h.step_A < room, next_A, -1)
    next_R1 = next_A.repeat_interleave(h.beam)[:, None]
    other_RV = torch.arange(given_RV.shape[1], device=given_RV.device) != next_R1
    return torch.where(next_R1 < 0, log_probs_RV, given_RV.masked_fill(other_RV, NOTHING))
