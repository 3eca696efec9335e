"""Dynamic beam allocation: hypotheses that met different shares of their constraints do not crowd each other out."""
# A items  C candidates  K places in the beam

import math

import torch
from torch import Tensor


def allocate(scores_AC: Tensor, met_AC: Tensor, beam: int, late_AC: Tensor | None = None) -> Tensor:
    """Which candidates stay: chosen_AK, with K = min(beam, C).

    Candidates that met equally much share a bank (Post and Vilar 2018). First comes the best of every bank, then the
    second best of every bank, and so on, so that banks share the beam evenly and what a small bank leaves goes to the
    others; the vectorised form is close to that of Hu et al. 2019. At equal rank the bank that met more goes first,
    then the lower index. With one bank it is plain top-K, best first. Scores of -inf come last, and before
    them, in the same order, those that are late.
    """
    by_score_AC = scores_AC.argsort(dim=1, descending=True, stable=True)
    by_bank_AC = met_AC.gather(1, by_score_AC).argsort(dim=1, descending=True, stable=True)
    order_AC = by_score_AC.gather(1, by_bank_AC)  # the banks one behind the other, each best first
    met_AC, dead_AC = met_AC.gather(1, order_AC), scores_AC.gather(1, order_AC) == -math.inf
    place_AC = torch.arange(order_AC.shape[1], device=order_AC.device).expand_as(order_AC)
    begins_AC = torch.ones_like(dead_AC)
    begins_AC[:, 1:] = met_AC[:, 1:] != met_AC[:, :-1]
    rank_AC = place_AC - torch.where(begins_AC, place_AC, 0).cummax(1).values
    turn_AC = rank_AC + dead_AC * 2 * order_AC.shape[1]
    if late_AC is not None:
        turn_AC = turn_AC + (late_AC.gather(1, order_AC) & ~dead_AC) * order_AC.shape[1]
    chosen_AC = turn_AC.argsort(dim=1, stable=True)
    return order_AC.gather(1, chosen_AC[:, :beam])
