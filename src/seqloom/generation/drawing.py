"""Tokens drawn by chance, with nothing else to obey: the shortest way through a step, as `Greedy` is for the likeliest.

The same answers as `Writing` draws.
"""
# A lines, one to each item and sample

from collections.abc import Sequence

import torch
from torch import Tensor

from seqloom.generation.choice import filtered_alike
from seqloom.generation.contract import Goal, Item, Scorer, Written
from seqloom.generation.draft import Draft
from seqloom.generation.greedy import Greedy, Line
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.sampling import Sampling, draw, row_keys
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.writing import ROOM
from seqloom.layers.cohorts import alike
from seqloom.layers.mixer import join, reorder, roomy
from seqloom.layers.native.run import Chance


def is_drawn(settings: GenerationSettings, attention: bool) -> bool:
    """Whether nothing is asked for but tokens by chance. attention: where the model looked, too."""
    steered = settings.coverage or settings.no_repeat or settings.shortest or attention
    return settings.sample is not None and not steered


class Drawing(Greedy):
    """n_best samples to each item, which go their own ways and end alone."""

    def __init__(self, scorer: Scorer, settings: GenerationSettings) -> None:
        super().__init__(scorer, settings)
        self.samples = settings.n_best

    @property
    def items(self) -> int:
        return len({id(line.draft) for line in self.lines})

    @torch.inference_mode()
    def begin(self, items: Sequence[Item]) -> None:
        if not items:
            return
        state, last_A = self.scorer.start(items)
        if self.samples > 1:
            rows = torch.arange(len(items), device=last_A.device).repeat_interleave(self.samples)
            state, last_A = reorder(state, rows), last_A[rows]
        sizes = tuple(size * self.samples for size in alike([len(item.source) for item in items]))
        state = roomy(state, ROOM, sizes)
        if self.lines:
            state, last_A = join([self.state, state]), torch.cat((self.last_A, last_A))
        self.state, self.last_A = state, last_A
        for item in items:
            draft, sampling = Draft(item, self.samples), item.sample or self.settings.sample
            assert sampling is not None
            seed = self.settings.seed if item.seed is None else item.seed
            keys = row_keys([seed] * self.samples, *_numbers(item.number, self.samples)).tolist()
            self.lines += [Line(draft, key=key, by=sampling) for key in keys]
        self.cohorts += sizes

    def answers(self, draft: Draft) -> list[Written]:
        """Of a draft that is complete: all samples, the same one perhaps more than once."""
        return draft.answers(self.samples, distinct=False)

    def _goal(self, left: list[int], most: int) -> Goal:
        keys, before = [line.key for line in self.lines], [len(line.tokens) for line in self.lines]
        return Goal(left, most, chance=Chance(keys, before, [_numbers_of(line.by) for line in self.lines]))

    @property
    def _kept(self) -> int:
        return self.settings.n_best

    def _written(self) -> list[int]:
        """One token to each, by the plain lines."""
        log_probs_AV, _, self.state = self.scorer.step(self.last_A, self.state, False)
        log_probs_AV = log_probs_AV.float()
        if bool(log_probs_AV[:, self.scorer.end].isnan().any()):
            raise NoNumbersError
        device = log_probs_AV.device
        key_A, step_A = (
            torch.tensor(of, dtype=torch.int64, device=device)
            for of in ([line.key for line in self.lines], [len(line.tokens) for line in self.lines])
        )
        sampling = [line.by for line in self.lines if line.by is not None]
        self.last_A = draw(filtered_alike(log_probs_AV, sampling), key_A, step_A)
        log_prob_A = log_probs_AV.gather(1, self.last_A[:, None])[:, 0]
        return self._added(enumerate(self.lines), self.last_A.tolist(), log_prob_A.tolist())


def _numbers(number: int, samples: int) -> tuple[Tensor, Tensor]:
    return torch.full((samples,), number), torch.arange(samples)


def _numbers_of(sampling: Sampling | None) -> tuple[float, float, float, float]:
    assert sampling is not None
    return sampling.numbers
