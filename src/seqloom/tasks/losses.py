"""From a model's output to a loss; R-Drop."""
# N tokens  V vocabulary, tags or classes

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.chain import exact
from seqloom.layers.layout import halves
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.heads import TokenHead, chain_of
from seqloom.models.output import Output
from seqloom.models.shared_chance import shares_chance
from seqloom.tasks.batch import Batch
from seqloom.tasks.tag_rows import TagRows
from seqloom.tasks.task import Goals
from seqloom.text.labels import NONE

IGNORED = NONE
"""A goal that does not count."""

Run = Callable[[Batch], Output]
"""One pass over what a batch reads."""


def over_source(model: EncoderOnly) -> Run:
    def run(batch: Batch) -> Output:
        assert batch.source is not None
        return model(batch.source.tokens_N, batch.source.layout)

    return run


def sequence_loss(model: Model, run: Run, batch: Batch, goals: Goals) -> Tensor:
    """The sum of −log p[goal], each so often as the batch says; mixtures of experts add what keeps them balanced, for
    each part that counts.
    """
    agree = goals.r_drop and model.training
    if batch.weight_N is not None and (agree or not isinstance(model.head, TokenHead)):
        raise ValueError("goals have weights, which R-Drop and labels do not know")
    if agree:
        return _r_drop(model, _passes(model, run, batch), batch, goals)
    output = run(batch)
    chain = chain_of(model.head)
    if chain is not None:
        loss = TagRows.of(model.scores(output), output.layout, batch.goal).loss(chain.links, goals.smoothing)
    elif isinstance(model.head, TokenHead):
        loss = model.head.loss(output.hidden, output.layout, batch.goal, goals.smoothing, batch.weight_N)
    else:
        loss = _cross_entropy(model.scores(output), batch.goal, goals.smoothing)
    return loss + beside(model, output, batch.counted, goals)


@dataclass(frozen=True)
class _Passes:
    """Two passes over the same rows, and all that a pass tells beside its numbers."""

    one: Output
    other: Output
    whole: Sequence[Output]


def _passes(model: Model, run: Run, batch: Batch) -> _Passes:
    """One pass over each row twice takes half of the kernels. What is normed or balanced is so over all of it."""
    if shares_chance(model):
        one, other = run(batch), run(batch)
        return _Passes(one, other, (one, other))
    both = run(batch.twice())
    return _Passes(*_halves(both, batch), (both,))


def _r_drop(model: Model, passes: _Passes, batch: Batch, goals: Goals) -> Tensor:
    """½ (loss₁ + loss₂) + α · ¼ (KL(p₁‖p₂) + KL(p₂‖p₁)): two passes with other dropout should agree.

    Liang et al. 2021, eq. 4, divided by two, so that without α it is the plain loss.
    """
    one, goal_N = passes.one, batch.goal
    scores, others = model.scores(one), model.scores(passes.other)
    more = sum(beside(model, each, batch.counted, goals) for each in passes.whole) / len(passes.whole)
    chain = chain_of(model.head)
    if chain is not None:
        rows, again = (TagRows.of(each, one.layout, goal_N) for each in (scores, others))
        each = rows.loss(chain.links, goals.smoothing) + again.loss(chain.links, goals.smoothing)
        return each / 2 + goals.r_drop / 4 * rows.apart(again, chain.links) + more
    loss = _cross_entropy(scores, goal_N, goals.smoothing) + _cross_entropy(others, goal_N, goals.smoothing)
    log_p, log_q = F.log_softmax(exact(scores), -1), F.log_softmax(exact(others), -1)
    apart_N = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1)  # both divergences, added
    apart = torch.where(goal_N > IGNORED, apart_N.reshape(goal_N.shape), 0).sum()
    return loss / 2 + goals.r_drop / 4 * apart + more


def _halves(both: Output, batch: Batch) -> tuple[Output, Output]:
    """What came of all rows, and what came of them again."""
    if batch.asked_M is not None:
        place_M = torch.arange(len(batch.asked_M), device=both.hidden.device)
        return both.at(place_M), both.at(place_M + len(place_M))
    hidden, again, layout = halves(both.layout, both.hidden)
    return Output(hidden, layout), Output(again, layout)


def _cross_entropy(scores_NV: Tensor, goal_N: Tensor, smoothing: float) -> Tensor:
    scores_NV = exact(scores_NV.reshape(-1, scores_NV.shape[-1]))
    goal_N = goal_N.flatten().clamp(min=IGNORED)  # a label that no model can give does not count either
    return F.cross_entropy(scores_NV, goal_N, reduction="sum", ignore_index=IGNORED, label_smoothing=smoothing)


def beside(model: Model, output: Output, count: int | Tensor, goals: Goals) -> Tensor | float:
    """What the loss has beside the goals, for each part that counts."""
    balance = 0.0 if output.report is None else output.report.loss * count
    if not model.training or not (goals.activation or goals.temporal):
        return balance
    return balance + _restless(output, goals) * count


def _restless(output: Output, goals: Goals) -> Tensor:
    """α · mean h² + β · mean (h_{t+1} − h_t)² of the last layer's states (Merity et al. 2018, section 4.6).

    Both of the states behind dropout; theirs takes the differences before it.
    """
    hidden_BTD, real_BT = exact(output.layout.pad(output.hidden)), output.layout.real_BT
    size = hidden_BTD.shape[-1]
    level = hidden_BTD.square().sum() / (real_BT.sum().clamp(min=1) * size)
    both_BT = real_BT[:, 1:]
    change_BTD = torch.where(both_BT[..., None], hidden_BTD[:, 1:] - hidden_BTD[:, :-1], 0)
    return goals.activation * level + goals.temporal * change_BTD.square().sum() / (both_BT.sum().clamp(min=1) * size)
