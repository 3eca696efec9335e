"""The likeliest token, step by step."""
# B rows that are still writing

from typing import Protocol

import torch
from torch import Tensor

from seqloom.layers.mixer import reorder
from seqloom.models.output import DecoderState


class Stepper(Protocol):
    """What writing needs of a model: the scores of the next token, and the state behind it."""

    def __call__(self, last_B: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """scores_BV behind the last tokens."""


@torch.no_grad()
def greedy(step: Stepper, state: DecoderState, begin: int, end: int, most: int) -> list[list[int]]:
    """For each row of the state what is written until the end mark, which is left out; at most so many tokens.

    A row that has ended leaves the batch.
    """
    rows_B = torch.arange(len(state.lengths_B), device=state.lengths_B.device)
    last_B = torch.full_like(rows_B, begin)
    written: list[list[int]] = [[] for _ in range(len(rows_B))]
    for _ in range(most):
        scores_BV, state = step(last_B, state)
        last_B = scores_BV.argmax(-1)
        going_B = last_B != end
        for row, token in zip(rows_B[going_B].tolist(), last_B[going_B].tolist(), strict=True):
            written[row].append(token)
        if not going_B.all():
            stay = going_B.nonzero()[:, 0]
            rows_B, last_B, state = rows_B[stay], last_B[stay], reorder(state, stay)
        if not len(rows_B):
            break
    return written
