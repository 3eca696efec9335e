"""What is written to each item where always the likeliest token is taken: kept on the device, a step at a time."""
# A items  T tokens that fit, and a place for what nobody reads

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING
from seqloom.generation.contract import Item, Written
from seqloom.generation.length import penalty
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
    """Some score of it was no number."""

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

    def begin(self, items_A: Tensor, items: Sequence[Item], last_A: Tensor) -> None:
        longest_A = torch.tensor([item.longest for item in items], device=items_A.device)
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

    def written(self, items_A: Tensor, settings: GenerationSettings) -> list[list[Written]]:
        """The answers to items that are done. Waits for the device."""
        steps, ended = torch.stack((self.step_A[items_A], self.ended_A[items_A].long())).tolist()
        most = max(steps, default=0) + 1
        tokens, log_probs = (part[items_A, :most].tolist() for part in (self.tokens_AT, self.log_probs_AT))
        found = []
        for step, whole, ids, given in zip(steps, ended, tokens, log_probs, strict=True):
            each = given[: step + whole]
            total = sum(each)
            score = total / penalty(settings.length, float(max(1, len(each))))
            found.append([Written(tuple(ids[:step]), score, total, tuple(each), bool(whole))])
        return found
