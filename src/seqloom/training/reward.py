"""Expected reward: answers are drawn from the model, and those that score above their like become likelier."""
# B examples  M samples to each

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field

from seqloom.data.cache import Examples
from seqloom.data.ragged import Longs, Ragged
from seqloom.models.build import Model
from seqloom.models.undisturbed import undisturbed
from seqloom.settings import Frozen
from seqloom.tasks import Batch, Goals
from seqloom.tasks.translate import TranslateTask
from seqloom.text.gleu import ngrams, sentence_gleu
from seqloom.training.objective import Part

LEAST = 16_384  # tokens that are read at once, though a batch has fewer: small parts take as long as larger ones

Floats = npt.NDArray[np.float64]


class Reward(Frozen):
    """−E[reward] + likelihood · loss, for each example (Wu et al. 2016, section 5, eq. 9).

    Begin from a model that has learnt by likelihood (`--from RUN`): of one that has not, no sample earns anything.
    """

    kind: Literal["gleu"] = Field(default="gleu", description="sentence GLEU of the tokens, against the reference")
    samples: int = Field(default=15, ge=2, description="answers that are drawn to each example")
    likelihood: float = Field(default=0.017, ge=0, description="weight of the likelihood beside the reward; 0: none")


@dataclass(frozen=True)
class Drawn:
    """One answer. ended: False: it was cut before its end mark."""

    tokens: tuple[int, ...]
    ended: bool


Draw = Callable[[Model, Examples, int, int], Sequence[Sequence[Drawn]]]
"""Of a model, some examples, how many, and a seed: so many answers to each, drawn as likely as the model says."""


@dataclass(frozen=True)
class _Group:
    """The different answers to some rows: what is read at once."""

    rows: Longs
    answers: list[Drawn]
    weights: list[float]
    reward: float  # of these rows


class ExpectedReward:
    """REINFORCE (Williams 1992) with a baseline. The reward is of tokens, as the model writes them.

    Both the drawing and the reading of the answers are without dropout, so that the gradient is that of the very
    model that is used later; the likelihood has dropout as in any training.
    """

    def __init__(self, settings: Reward, task: TranslateTask, draw: Draw) -> None:
        self.settings, self.task, self.draw = settings, task, draw

    def count(self, batch: Batch) -> int:
        return len(batch.examples)

    def parts(self, model: Model, batch: Batch, goals: Goals, seed: int) -> Iterator[Part]:
        if self.settings.likelihood:
            loss = self.settings.likelihood * self.task.loss(model, batch, goals)
            yield Part(loss, loss.detach())
        with undisturbed(model):
            drawn = self.draw(model, batch.examples, self.settings.samples, seed)
        # some versions of torch use what was cast without gradients again, where there should be some
        torch.clear_autocast_cache()
        device = batch.goal.device
        for group in self._groups(batch, drawn):
            figures = {"reward": group.reward}
            if not group.answers:
                yield Part(None, -group.reward, figures)
                continue
            read = self._batch(batch.examples, group).to(device)
            with undisturbed(model):
                loss = self.task.loss(model, read, Goals())
            yield Part(loss, -group.reward, figures)

    def _groups(self, batch: Batch, drawn: Sequence[Sequence[Drawn]]) -> Iterator[_Group]:
        """So many rows together that their answers take no more tokens than the batch itself, if it is not tiny."""
        most = max(batch.tokens, LEAST)
        source, target = batch.examples.columns["source"], batch.examples.columns["target"]
        rows, answers, weights, tokens, reward = list[int](), list[Drawn](), list[float](), 0, 0.0
        for row, samples in enumerate(drawn):
            distinct, mean = weighed(samples, target[row].tolist())
            more = sum(len(one.tokens) + len(source[row]) + 2 for one in distinct)
            if answers and tokens + more > most:
                yield _Group(np.asarray(rows, np.int64), answers, weights, reward)
                rows, answers, weights, tokens, reward = [], [], [], 0, 0.0
            rows += [row] * len(distinct)
            answers += distinct
            weights += distinct.values()
            tokens, reward = tokens + more, reward + mean
        yield _Group(np.asarray(rows, np.int64), answers, weights, reward)

    def _batch(self, examples: Examples, group: _Group) -> Batch:
        answers = Ragged.rows([one.tokens for one in group.answers])
        ended_B = np.asarray([one.ended for one in group.answers])
        return self.task.answered(examples.take(group.rows), answers, ended_B, np.asarray(group.weights))


def weighed(samples: Sequence[Drawn], reference: Sequence[int]) -> tuple[dict[Drawn, float], float]:
    """Each different answer with the weight of its log p in −E[reward]'s gradient, and the mean reward.

    The weight of a sample is (reward − baseline) / M; the baseline is the mean of the other samples, which does not
    depend on this one, so that it makes the estimate steadier and leaves its mean as it is. An answer whose weight is
    0 is not there: nothing would come of reading it.
    """
    wanted = ngrams(reference)
    each = {one: sentence_gleu(ngrams(one.tokens), wanted) for one in dict.fromkeys(samples)}
    reward_M = np.asarray([each[one] for one in samples])
    advantage_M = advantages(reward_M)
    weights = dict.fromkeys(each, 0.0)
    for one, advantage in zip(samples, advantage_M.tolist(), strict=True):
        weights[one] += advantage / len(samples)
    return {one: weight for one, weight in weights.items() if weight}, float(reward_M.mean())


def advantages(reward_M: Floats) -> Floats:
    """How much each reward is above the mean of the others."""
    # exactly 0 where all are equal
    return (reward_M - reward_M.mean()) * (len(reward_M) / (len(reward_M) - 1)) * (np.ptp(reward_M) > 0)
