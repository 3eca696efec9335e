"""A scorer that reads all that was written anew in each step: for models that cannot go on from a state.

A model that is changed while it runs may let the past see the future, so that nothing of the past can be kept.
"""
# R rows  T tokens so far  V tokens of the vocabulary

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.contract import Item
from seqloom.generation.scorer import log_probs_of


@dataclass(frozen=True)
class SoFar:
    tokens_RT: Tensor


class RereadingScorer:
    """Of one item. scores: of what the writer has read, tokens_RT, the next token's at each place, scores_RTV.

    first: what stands before the answer. never: tokens that are not written, however likely.
    """

    def __init__(
        self,
        scores: Callable[[Tensor], Tensor],
        first: Sequence[int],
        *,
        begin: int,
        end: int,
        size: int,
        never: Sequence[int] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        self.scores, self.first, self.begin, self.end, self.size = scores, list(first), begin, end, size
        self.never_N = torch.tensor(never, dtype=torch.int64, device=device)

    def start(self, items: Sequence[Item]) -> tuple[SoFar, Tensor]:
        if len(items) != 1:
            raise ValueError("what is read anew in each step is written alone")
        *before, last = self.first
        tokens_1T = torch.tensor([before], dtype=torch.int64, device=self.never_N.device)
        return SoFar(tokens_1T), torch.tensor([last], device=self.never_N.device)

    @torch.inference_mode()
    def step(self, last_R: Tensor, state: SoFar, attention: bool) -> tuple[Tensor, Tensor | None, SoFar]:
        tokens_RT = torch.cat((state.tokens_RT, last_R[:, None]), 1)
        scores_R1V = self.scores(tokens_RT)[:, -1:]
        return log_probs_of(scores_R1V, self.never_N), None, SoFar(tokens_RT)
