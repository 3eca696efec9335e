"""A linear chain over tags: a score for each tag that follows another, and all sequences of tags weighed at once.

Lafferty et al. 2001 (conditional random fields); as the end of a neural tagger Lample et al. 2016, section 2.2.
A row's sequence of tags y has the score

    s(y) = begin[y₁] + Σₜ scores[t, yₜ] + Σₜ follow[yₜ₋₁, yₜ] + end[y_T]        and        p(y) = exp s(y) / Σ exp s

All of it is in logarithms, one loop over the words of a row, all rows at once. A row without words has one sequence of
tags, the empty one, whose score is 0.
"""
# B rows  T words of the longest row  V tags

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.layers.paths import fast

MOST = 1 << 26  # numbers that a step holds at once: of many rows and tags, it goes row by row
LEAST = 1e-25  # of sums of powers: what is too small for single precision, 1e-38, is nothing beside them


class Links(NamedTuple):
    """begin_V: of a row's first tag. follow_VV: from, to. end_V: of its last."""

    begin_V: Tensor
    follow_VV: Tensor
    end_V: Tensor

    @classmethod
    def mean(cls, every: Sequence[Self]) -> Self:
        return cls(*(torch.stack(parts).mean(0) for parts in zip(*every, strict=True)))

    def none(self) -> "Links":
        """Of tags that do not care what they follow."""
        return Links(*(torch.zeros_like(part) for part in self))

    def smoothed(self, share: float) -> "Links":
        """What is expected of tags of which each is another with this chance, any of all being as likely."""
        follow_VV = _spread(_spread(self.follow_VV, share, 0), share, 1)
        return Links(_spread(self.begin_V, share, 0), follow_VV, _spread(self.end_V, share, 0))


class Chain(nn.Module):
    """Learnt links. They begin with none, as if each tag stood alone."""

    stepwise = True  # as of a mixer: kernels for each step

    def __init__(self, size: int) -> None:
        super().__init__()
        self.begin_V = nn.Parameter(torch.zeros(size))
        self.follow_VV = nn.Parameter(torch.zeros(size, size))
        self.end_V = nn.Parameter(torch.zeros(size))

    @property
    def links(self) -> Links:
        return Links(exact(self.begin_V), exact(self.follow_VV), exact(self.end_V))


def exact(scores: Tensor) -> Tensor:
    """In single precision at least."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def log_total(scores_BTV: Tensor, lengths_B: Tensor, links: Links) -> Tensor:
    """log Σ exp s(y) over all sequences of tags, of each row: the forward algorithm."""
    if not scores_BTV.shape[1]:
        return scores_BTV.new_zeros(len(scores_BTV))
    last_BV = _forward(scores_BTV, lengths_B, links)[-1]
    return torch.where(lengths_B > 0, (last_BV + links.end_V).logsumexp(-1), 0)


def log_score(scores_BTV: Tensor, tags_BT: Tensor, lengths_B: Tensor, links: Links) -> Tensor:
    """s(y) of one sequence of tags for each row. What stands behind its words need not be a tag."""
    if not scores_BTV.shape[1]:
        return scores_BTV.new_zeros(len(scores_BTV))
    step_T = torch.arange(scores_BTV.shape[1], device=scores_BTV.device)
    real_BT = step_T < lengths_B[:, None]
    tags_BT = torch.where(real_BT, tags_BT, 0)
    each_BT = scores_BTV.gather(-1, tags_BT[..., None])[..., 0]
    first_B = links.begin_V[tags_BT[:, 0]]
    follows_BT = links.follow_VV[tags_BT[:, :-1], tags_BT[:, 1:]]
    last_B = links.end_V[tags_BT.gather(1, (lengths_B - 1).clamp(min=0)[:, None])[:, 0]]
    inner_B = torch.where(real_BT, each_BT, 0).sum(1) + torch.where(real_BT[:, 1:], follows_BT, 0).sum(1)
    return torch.where(lengths_B > 0, first_B + inner_B + last_B, 0)


def log_marginals(scores_BTV: Tensor, lengths_B: Tensor, links: Links) -> Tensor:
    """log p(yₜ = v), of each word and tag: forward and backward. Behind a row's words it says nothing of use."""
    if not scores_BTV.shape[1]:
        return scores_BTV
    forward_BTV = torch.stack(_forward(scores_BTV, lengths_B, links), 1)
    return (forward_BTV + _backward(scores_BTV, lengths_B, links)).log_softmax(-1)


def best_tags(scores_BTV: Tensor, lengths_B: Tensor, links: Links) -> Tensor:
    """The sequence of tags with the highest score, tags_BT (Viterbi 1967). Behind a row's words it says nothing."""
    rows, steps, size = scores_BTV.shape
    if not steps:
        return lengths_B.new_zeros(rows, 0)
    into_VV = links.follow_VV.T.contiguous()
    best_BV = links.begin_V + scores_BTV[:, 0]
    stay_BV = torch.arange(size, device=scores_BTV.device).expand(rows, -1)
    came = list[Tensor]()
    for step in range(1, steps):
        real_B1 = (step < lengths_B)[:, None]
        found_BV, from_BV = _by_rows(best_BV, into_VV, lambda sums: tuple(sums.max(-1)))
        best_BV = torch.where(real_B1, found_BV + scores_BTV[:, step], best_BV)
        came.append(torch.where(real_B1, from_BV, stay_BV))
    tags = [(best_BV + links.end_V).argmax(-1, keepdim=True)]
    for from_BV in reversed(came):
        tags.append(from_BV.gather(1, tags[-1]))
    return torch.cat(tags[::-1], 1)


def _forward(scores_BTV: Tensor, lengths_B: Tensor, links: Links) -> list[Tensor]:
    """Of each step the log of all that ends there in each tag; behind a row's last word it stays as it was."""
    into_VV = links.follow_VV.T
    each = [links.begin_V + scores_BTV[:, 0]]
    for step in range(1, scores_BTV.shape[1]):
        moved_BV = _through(each[-1], into_VV) + scores_BTV[:, step]
        each.append(torch.where((step < lengths_B)[:, None], moved_BV, each[-1]))
    return each


def _backward(scores_BTV: Tensor, lengths_B: Tensor, links: Links) -> Tensor:
    """Of each step the log of all that can come behind it, for each tag there."""
    end_BV = links.end_V.expand(len(scores_BTV), -1)
    each = [end_BV]
    for step in range(scores_BTV.shape[1] - 1, 0, -1):
        moved_BV = _through(each[-1] + scores_BTV[:, step], links.follow_VV)
        each.append(torch.where((step < lengths_B)[:, None], moved_BV, end_BV))
    return torch.stack(each[::-1], 1)


def _through(from_BV: Tensor, links_VV: Tensor) -> Tensor:
    """log Σᵤ exp(from[u] + links[v, u]), for each v."""
    return _Through.apply(from_BV, links_VV.to(from_BV.dtype))  # type: ignore[no-untyped-call]


class _Through(torch.autograd.Function):
    """The way back makes the sums once more: kept for all steps, V × V numbers a word would be most of a batch."""

    @staticmethod
    def forward(ctx: Any, from_BV: Tensor, links_VV: Tensor) -> Tensor:
        links_VV = links_VV.contiguous()
        made_BV = _product(from_BV, links_VV)
        ctx.product = made_BV is not None
        if made_BV is None:
            (made_BV,) = _by_rows(from_BV, links_VV, lambda sums: (sums.logsumexp(-1),))
        ctx.save_for_backward(from_BV, links_VV, made_BV)
        return made_BV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        from_BV, links_VV, made_BV = ctx.saved_tensors
        if ctx.product:
            top_B1, most_V, p_BU, q_VU = _powers(from_BV, links_VV)
            part_BV = grads[0] * (top_B1 + most_V - made_BV).exp()
            return (part_BV @ q_VU).mul_(p_BU), (part_BV.T @ p_BU).mul_(q_VU)
        d_from, d_links_VV = [], torch.zeros_like(links_VV)
        size = _rows(from_BV)
        for part_BV, made, grad in zip(*(x.split(size) for x in (from_BV, made_BV, grads[0])), strict=True):
            d_sums = (part_BV[:, None] + links_VV).sub_(made[..., None]).exp_().mul_(grad[..., None])
            d_from.append(d_sums.sum(1))
            d_links_VV += d_sums.sum(0)
        return torch.cat(d_from), d_links_VV


def _product(from_BV: Tensor, links_VV: Tensor) -> Tensor | None:
    """The same sums as a product of powers, ten times as fast on a CPU; None where some might be lost for being small.

    A GPU would have to be waited for to know that.
    """
    if from_BV.is_cuda or not fast() or torch.is_autocast_enabled(from_BV.device.type):
        return None
    top_B1, most_V, p_BU, q_VU = _powers(from_BV, links_VV)
    sums_BV = p_BU @ q_VU.T
    if not bool((sums_BV > LEAST).all()):
        return None
    return sums_BV.log_().add_(top_B1).add_(most_V)


def _powers(from_BU: Tensor, links_VU: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The highest of each row, and what is below it as powers, 1 at most."""
    top_B1, most_V1 = from_BU.amax(-1, keepdim=True), links_VU.amax(-1, keepdim=True)
    return top_B1, most_V1[:, 0], (from_BU - top_B1).exp_(), (links_VU - most_V1).exp_()


def _by_rows(from_BV: Tensor, links_VV: Tensor, reduce: Callable[[Tensor], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """What becomes of from[u] + links[v, u], over u."""
    parts = [reduce(part_BV[:, None] + links_VV) for part_BV in from_BV.split(_rows(from_BV))]
    return parts[0] if len(parts) == 1 else tuple(torch.cat(each) for each in zip(*parts, strict=True))


def _rows(from_BV: Tensor) -> int:
    return max(1, MOST // from_BV.shape[1] ** 2)


def _spread(x: Tensor, share: float, axis: int) -> Tensor:
    return (1 - share) * x + share * x.mean(axis, keepdim=True)
