"""Which hypotheses go on and which end: the likeliest, those of groups that avoid each other, or by chance."""
# A items  K hypotheses to each  R = A·K rows  C candidates  E wanted tokens  V tokens

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.generation.allocation import allocate
from seqloom.generation.beam import NOTHING, Candidates, followed, forks, likeliest
from seqloom.generation.hypotheses import Hypotheses
from seqloom.generation.phrases import Phrases, Progress
from seqloom.generation.sampling import Sampling, draw, filtered, row_keys
from seqloom.layers.mixer import reorder


@dataclass(frozen=True)
class Choice:
    """going: K to each item. ended: as many places, and nothing in those that do not end. considered: all, of which
    these were taken."""

    going: Candidates
    ended: Candidates
    considered: Candidates


def searched(h: Hypotheses, log_probs_RV: Tensor, end: int) -> Choice:
    """The best so many. What ends must rank among them."""
    return followed_up(h, forks(h.total_AK, log_probs_RV, ways(h.beam)), end)


def ways(beam: int) -> int:
    """Candidates that a search looks at: of twice as many half may be ends."""
    return 2 * beam if beam > 1 else 1


def followed_up(h: Hypotheses, candidates: Candidates, end: int) -> Choice:
    return _split(h, candidates, end, h.beam)


def diverse(h: Hypotheses, log_probs_RV: Tensor, end: int, groups: int, strength: float) -> Choice:
    """Group after group, each a beam of its own that ranks lower what earlier groups chose in this step.

    Vijayakumar et al. 2016, with their Hamming diversity. Only the ranking knows of it: the totals stay what they are.
    """
    size = h.beam // groups
    log_probs_AKV = log_probs_RV.view(h.count, h.beam, -1)
    used_AV = log_probs_RV.new_zeros(h.count, log_probs_RV.shape[1])
    chosen = []
    for first in range(0, h.beam, size):
        part = slice(first, first + size)
        own_RV = log_probs_AKV[:, part].flatten(0, 1)
        candidates = forks(h.total_AK[:, part], own_RV, 2 * size, used_AV * strength if first else None)
        choice = _split(h, candidates.shifted(first), end, size)
        going = choice.going
        used_AV.scatter_add_(1, going.token_AC, (going.total_AC > NOTHING).to(used_AV.dtype))
        chosen.append(choice)
    return Choice(
        Candidates.beside([choice.going for choice in chosen]),
        Candidates.beside([choice.ended for choice in chosen]),
        Candidates.beside([choice.considered for choice in chosen]),
    )


def drawn(h: Hypotheses, allowed_RV: Tensor, end: int, sampling: Sequence[Sampling], seeds: Sequence[int]) -> Choice:
    """One token by chance, of each item in its own way; what it costs is what the model said of it."""
    key_A = row_keys(seeds, h.number_A, h.sample_A)
    token_A = draw(filtered_alike(allowed_RV, sampling), key_A, h.step_A)
    log_prob_AC = allowed_RV.gather(1, token_A[:, None])
    candidates = Candidates(torch.zeros_like(token_A)[:, None], token_A[:, None], log_prob_AC, h.total_AK + log_prob_AC)
    return _split(h, candidates, end, 1)


def filtered_alike(allowed_RV: Tensor, sampling: Sequence[Sampling]) -> Tensor:
    """Rows that are drawn alike are filtered at once; mostly all are."""
    kinds = dict.fromkeys(sampling)
    if len(kinds) == 1:
        return filtered(allowed_RV, sampling[0])
    filtered_RV = torch.empty_like(allowed_RV)
    for kind in kinds:
        rows = torch.tensor([row for row, one in enumerate(sampling) if one == kind], device=allowed_RV.device)
        filtered_RV[rows] = filtered(allowed_RV[rows], kind)
    return filtered_RV


def constrained(h: Hypotheses, log_probs_RV: Tensor, end: int, phrases: Phrases, progress: Progress) -> Choice:
    """The beam is shared by hypotheses that hold more or less of what they must (Post and Vilar 2018).

    No candidate is followed that would leave too little room for what is still missing. Where it might turn out to be
    too little, it is followed if those that have enough leave a place.
    """
    A, K = h.total_AK.shape
    log_prob_RC, token_RC = likeliest(log_probs_RV, min(2 * K, log_probs_RV.shape[1]))  # of each hypothesis its best
    C = token_RC.shape[1]
    origin_AC = torch.arange(K, device=token_RC.device).repeat_interleave(C).expand(A, -1)
    total_AC = (h.total_AK.view(-1, 1) + log_prob_RC).view(A, -1)
    likely = Candidates(origin_AC, token_RC.view(A, -1), log_prob_RC.view(A, -1), total_AC)
    pool = _distinct(Candidates.beside([likely, _wanted(h, log_probs_RV, phrases, progress)]), log_probs_RV.shape[1])
    A, C = pool.token_AC.shape
    rows_AC = torch.arange(A, device=pool.token_AC.device)[:, None] * h.beam + pool.origin_AC
    after = phrases.advance(reorder(progress, rows_AC.flatten()), pool.token_AC.flatten())
    room_A1 = ((h.longest_A - h.step_A)[:, None] - 1).clamp(min=0)
    free_AC = (pool.token_AC == end) | (h.step_A[:, None] < (h.prefix_AP >= 0).sum(1, keepdim=True))
    safe_AC = (phrases.safely_needed(after).view(A, C) <= room_A1) | free_AC
    fits_AC = (phrases.needed(after).view(A, C) <= room_A1) | free_AC
    pool = replace(pool, total_AC=torch.where(fits_AC, pool.total_AC, NOTHING))
    chosen_AC = allocate(pool.total_AC, phrases.met(after).view(A, C), ways(h.beam), ~safe_AC)
    return _split(h, pool.taken(chosen_AC), end, h.beam)


def _split(h: Hypotheses, candidates: Candidates, end: int, size: int) -> Choice:
    return split(candidates, h.step_A < h.longest_A, end, size)


def split(candidates: Candidates, fits_A: Tensor, end: int, size: int) -> Choice:
    """Which end and which go on. fits_A: whether an item may get one more token."""
    ends_AC = candidates.token_AC == end
    goes_AC = ~ends_AC & (candidates.total_AC > NOTHING) & fits_A[:, None]
    top = candidates.first(size)
    ended = replace(top, total_AC=torch.where(ends_AC[:, :size], top.total_AC, NOTHING))
    return Choice(followed(candidates, goes_AC, size), ended, candidates)


def _wanted(h: Hypotheses, log_probs_RV: Tensor, phrases: Phrases, progress: Progress) -> Candidates:
    """Tokens that begin what must be there, or go on with it, however unlikely."""
    row_N, token_N = phrases.wanted(progress)
    order_N = row_N.argsort(stable=True)
    row_N, token_N = row_N[order_N], token_N[order_N]
    item_N = row_N // h.beam
    many_A = torch.bincount(item_N, minlength=h.count)
    place_N = torch.arange(len(row_N), device=row_N.device) - (many_A.cumsum(0) - many_A)[item_N]
    shape = h.count, int(many_A.max())
    log_prob_N = log_probs_RV[row_N, token_N]
    total_AE = h.total_AK.new_full(shape, NOTHING)
    origin_AE, token_AE, log_prob_AE = row_N.new_zeros(shape), row_N.new_zeros(shape), log_probs_RV.new_zeros(shape)
    at = item_N, place_N
    origin_AE[at], token_AE[at], log_prob_AE[at] = row_N % h.beam, token_N, log_prob_N
    total_AE[at] = h.total_AK.view(-1)[row_N] + log_prob_N
    return Candidates(origin_AE, token_AE, log_prob_AE, total_AE)


def _distinct(pool: Candidates, tokens: int) -> Candidates:
    """Each way on once; the others hold nothing."""
    # what holds nothing must not stand for what is real
    key_AC = torch.where(pool.total_AC > NOTHING, pool.origin_AC * tokens + pool.token_AC, -1)
    sorted_AC, order_AC = key_AC.sort(dim=-1, stable=True)
    again_AC = torch.zeros_like(sorted_AC, dtype=torch.bool)
    again_AC[:, 1:] = sorted_AC[:, 1:] == sorted_AC[:, :-1]
    again_AC = torch.zeros_like(again_AC).scatter(1, order_AC, again_AC)
    return replace(pool, total_AC=pool.total_AC.masked_fill(again_AC, NOTHING))
