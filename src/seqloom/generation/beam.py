"""The best ways on from some hypotheses: which of them is followed by which token."""
# A items  K hypotheses to each  R = A·K rows  V tokens  C candidates of an item, best first

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.native import vocabulary as native

NOTHING = -torch.inf
"""The log_prob of what may not be, and of a place that holds no hypothesis."""


@dataclass(frozen=True)
class Candidates:
    """Best first; of equals the earlier hypothesis and then the lower token. A total of -inf: no candidate."""

    origin_AC: Tensor
    token_AC: Tensor
    log_prob_AC: Tensor
    total_AC: Tensor

    def taken(self, places_AC: Tensor) -> "Candidates":
        return Candidates(*(part.gather(1, places_AC) for part in self._parts))

    def first(self, count: int) -> "Candidates":
        return Candidates(*(part[:, :count] for part in self._parts))

    def shifted(self, by: int) -> "Candidates":
        """Of a group whose first hypothesis is that number of the whole beam."""
        return Candidates(self.origin_AC + by, *self._parts[1:])

    @property
    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.origin_AC, self.token_AC, self.log_prob_AC, self.total_AC

    @classmethod
    def beside(cls, groups: list["Candidates"]) -> "Candidates":
        if len(groups) == 1:
            return groups[0]
        return cls(*(torch.cat(parts, 1) for parts in zip(*(group._parts for group in groups), strict=True)))


def likeliest(scores_RV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Each row's best scores, best first, and where they stand; of equals the lower place, which topk leaves open."""
    if count == 1:
        if scores_RV.device.type != "cpu":
            return scores_RV.max(-1, keepdim=True)
        # ten times as fast; of equals it, too, takes the lower place
        place_R1 = torch.from_numpy(scores_RV.numpy().argmax(-1, keepdims=True))
        return scores_RV.gather(1, place_R1), place_R1
    if (made := native.likeliest(scores_RV, count)) is not None:
        return made
    size = scores_RV.shape[-1]
    best_RC, place_RC = scores_RV.topk(min(count + 1, size))
    if count < size:
        last_R, next_R = best_RC[:, count - 1], best_RC[:, count]
        open_R = ((last_R == next_R) & (next_R > NOTHING)).nonzero()[:, 0]
        if len(open_R):
            sorted_RV = scores_RV[open_R].sort(dim=-1, descending=True, stable=True)
            best_RC[open_R], place_RC[open_R] = (part[:, : count + 1] for part in sorted_RV)
    place_RC, order_RC = place_RC[:, :count].sort(-1)
    best_RC, order_RC = best_RC.gather(1, order_RC).sort(dim=-1, descending=True, stable=True)
    return best_RC, place_RC.gather(1, order_RC)


def forks(total_AK: Tensor, log_probs_RV: Tensor, count: int, costs_AV: Tensor | None = None) -> Candidates:
    """The best ways on of each item. costs_AV: what a token costs in the ranking, though not in the totals."""
    K = total_AK.shape[1]
    costly_RV = log_probs_RV if costs_AV is None else log_probs_RV - costs_AV.repeat_interleave(K, 0)
    rank_RC, token_RC = likeliest(costly_RV, min(count, log_probs_RV.shape[-1]))
    log_prob_RC = rank_RC if costs_AV is None else log_probs_RV.gather(1, token_RC)
    return ranked(total_AK, token_RC, log_prob_RC, count, None if costs_AV is None else rank_RC)


def ranked(
    total_AK: Tensor, token_RC: Tensor, log_prob_RC: Tensor, count: int, rank_RC: Tensor | None = None
) -> Candidates:
    """The best so many of each item, of some ways on of each hypothesis, best first. rank_RC: what they are ranked by,
    if it is not their log_prob."""
    (A, K), C = total_AK.shape, token_RC.shape[1]
    total_RC = total_AK.reshape(-1, 1) + log_prob_RC
    if K == 1:
        return Candidates(torch.zeros_like(token_RC), token_RC, log_prob_RC, total_RC)
    rank_AC = (total_RC if rank_RC is None else total_AK.reshape(-1, 1) + rank_RC).view(A, K * C)
    place_AC = rank_AC.sort(dim=-1, descending=True, stable=True).indices[:, :count]
    token_AC, log_prob_AC, total_AC = (part.reshape(A, K * C) for part in (token_RC, log_prob_RC, total_RC))
    origin_AC = torch.arange(K, device=token_AC.device).repeat_interleave(C).expand(A, -1)
    return Candidates(origin_AC, token_AC, log_prob_AC, total_AC).taken(place_AC)


def followed(candidates: Candidates, goes_AC: Tensor, beam: int) -> Candidates:
    """The best so many candidates that go on; where there are fewer, the rest hold nothing."""
    if candidates.total_AC.shape[1] > 1:
        place_AC = (~goes_AC).to(torch.uint8).sort(dim=-1, stable=True).indices[:, :beam]
        candidates, goes_AC = candidates.taken(place_AC), goes_AC.gather(1, place_AC)
    total_AC = torch.where(goes_AC, candidates.total_AC, NOTHING)
    kept = Candidates(candidates.origin_AC, candidates.token_AC, candidates.log_prob_AC, total_AC)
    missing = beam - total_AC.shape[1]
    if missing <= 0:
        return kept
    # a vocabulary smaller than the beam
    room = (0, missing)
    origin_AC, token_AC, log_prob_AC, _ = (F.pad(part, room) for part in kept._parts)
    return Candidates(origin_AC, token_AC, log_prob_AC, F.pad(total_AC, room, value=NOTHING))
