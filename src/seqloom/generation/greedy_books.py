"""What is written to each item where always the likeliest token is taken: kept on the device, a step at a time."""
# A items  T tokens that fit, and a place for what nobody reads

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING
from seqloom.generation.contract import Item, Written
from seqloom.generation.length import penalty
from seqloom.generation.no_numbers import refuse_bad
from seqloom.generation.on_its_way import OnItsWay
from seqloom.generation.settings import GenerationSettings
from seqloom.layers.kernels import usable


@dataclass(frozen=True)
class GreedyBooks:
    """Written in place. An item that is done stays as it is, until another takes its place."""

    tokens_AT: Tensor
    log_probs_AT: Tensor
    step_A: Tensor
    longest_A: Tensor
    last_A: Tensor
    done_A: Tensor
    ended_A: Tensor
    bad_A: Tensor
    """Some score of it was no number: it has no answer."""

    @classmethod
    def empty(cls, items: int, steps: int, device: torch.device) -> "GreedyBooks":
        def zeros(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(items, *shape, dtype=dtype, device=device)

        flags = [zeros(dtype=torch.bool) for _ in range(3)]
        books = cls(zeros(steps + 1), zeros(steps + 1, dtype=torch.float32), zeros(), zeros(), zeros(), *flags)
        books.done_A.fill_(True)
        return books

    @property
    def last_R(self) -> Tensor:
        return self.last_A

    def begin(self, items_A: Tensor, longest_A: Tensor, last_A: Tensor) -> None:
        self.longest_A.index_copy_(0, items_A, longest_A)
        self.last_A.index_copy_(0, items_A, last_A)
        for part in (self.step_A, self.done_A, self.ended_A, self.bad_A):
            part.index_fill_(0, items_A, 0)

    def choose(self, log_prob_AC: Tensor, token_AC: Tensor, end: int) -> tuple[Tensor, None]:
        """One more token to each; who goes on."""
        if usable(token_AC):
            from seqloom.layers.kernels.greedy import Books, noted

            books = Books(
                self.tokens_AT,
                self.log_probs_AT,
                self.step_A,
                self.longest_A,
                self.last_A,
                self.done_A,
                self.ended_A,
                self.bad_A,
            )
            return noted(books, log_prob_AC, token_AC, end), None
        best_A, token_A = log_prob_AC[:, 0], token_AC[:, 0]
        here_A, room = ~self.done_A, self.tokens_AT.shape[1] - 1
        real_A = best_A > NOTHING  # not so where it is no number
        ends_A = (token_A == end) & real_A & here_A
        goes_A = here_A & real_A & ~ends_A & (self.step_A < self.longest_A)
        at_A1 = torch.where(here_A, self.step_A, room)[:, None]
        self.tokens_AT.scatter_(1, at_A1, token_A[:, None])
        self.log_probs_AT.scatter_(1, at_A1, best_A[:, None])
        self.bad_A.logical_or_(best_A.isnan() & here_A)
        self.ended_A.logical_or_(ends_A)
        self.last_A.copy_(torch.where(goes_A, token_A, self.last_A))
        self.done_A.logical_or_(~goes_A)
        self.step_A.add_(goes_A)
        return goes_A, None

    def leave(self, items_A: Tensor, most: int) -> OnItsWay:
        """All that the answers to items that are done are made of. most: steps of the longest."""
        parts = self.bad_A, self.step_A, self.ended_A, self.tokens_AT[:, : most + 1], self.log_probs_AT[:, : most + 1]
        return OnItsWay([part[items_A] for part in parts])

    def written(self, left: OnItsWay, settings: GenerationSettings, items: Sequence[Item]) -> Iterator[list[Written]]:
        """The answers to these items, which left, each made when it is asked for. Waits for the device."""
        bad_A, step_A, ended_A, tokens_AT, log_probs_AT = left.read()
        refuse_bad(bad_A)
        length_A = step_A + ended_A
        real_AT = torch.arange(log_probs_AT.shape[1]) < length_A[:, None]
        total_A = torch.where(real_AT, log_probs_AT.double(), 0).sum(1)
        score_A = total_A / penalty(settings.length, length_A.clamp(min=1).double())
        parts = (step_A, ended_A, total_A, score_A, tokens_AT, log_probs_AT)
        for step, ended, total, score, ids, given in zip(*(part.tolist() for part in parts), strict=True):
            yield [Written(tuple(ids[:step]), score, total, tuple(given[: step + ended]), ended)]
