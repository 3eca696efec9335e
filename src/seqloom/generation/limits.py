"""Which tokens may not follow: an end too early, what departs from the prefix, what repeats itself, phrases."""
# A items  K hypotheses to each  R = A·K rows  V tokens  P tokens of a prefix

import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING
from seqloom.generation.hypotheses import Hypotheses
from seqloom.generation.ngrams import repeated
from seqloom.generation.phrases import Phrases, Progress


def limited(
    given_RV: Tensor,
    h: Hypotheses,
    end: int,
    soonest: int,
    no_repeat: int = 0,
    phrases: Phrases | None = None,
    progress: Progress | None = None,
) -> Tensor:
    """The log_probs with -inf for what may not follow. soonest: the fewest tokens that an item has so far."""
    allowed_RV = given_RV
    if soonest < h.shortest or no_repeat or phrases is not None:
        allowed_RV = given_RV.clone()
    if soonest < h.shortest:
        allowed_RV[:, end].masked_fill_((h.step_A < h.shortest_A).repeat_interleave(h.beam), NOTHING)
    if no_repeat:
        rows, tokens = repeated(h.tokens_AKT.flatten(0, 1), h.step_A.repeat_interleave(h.beam), no_repeat)
        allowed_RV[rows, tokens] = NOTHING
    if phrases is not None and progress is not None:
        allowed_RV[phrases.forbidden(progress)] = NOTHING
        allowed_RV[:, end].masked_fill_(~phrases.all_met(progress), NOTHING)
    if soonest < h.prefix_AP.shape[1]:
        allowed_RV = _forced(allowed_RV, given_RV, h)
    return allowed_RV


def _forced(allowed_RV: Tensor, given_RV: Tensor, h: Hypotheses) -> Tensor:
    """Only the prefix's own next token, while there is one, though it be forbidden."""
    room = h.prefix_AP.shape[1]
    next_A = h.prefix_AP.gather(1, h.step_A.clamp(max=room - 1)[:, None])[:, 0]
    next_R1 = torch.where(h.step_A < room, next_A, -1).repeat_interleave(h.beam)[:, None]
    other_RV = torch.arange(given_RV.shape[1], device=given_RV.device) != next_R1
    return torch.where(next_R1 < 0, allowed_RV, given_RV.masked_fill(other_RV, NOTHING))
