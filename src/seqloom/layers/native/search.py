"""The hypotheses of a search, as C goes on with them for some steps: see search.h."""
# A items  K hypotheses to each  R = A·K rows  T tokens that fit  N answers that are wanted

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from ctypes import Structure, c_int64, c_void_p
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

STUCK = 2  # as in the source


class Form(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("fan", "wanted", "room")),
        *((name, c_void_p) for name in ("tokens", "log_probs", "totals", "steps", "longest", "best", "penalties")),
        *((name, c_void_p) for name in ("ends", "found", "found_steps", "found_tokens")),
        *((name, c_void_p) for name in ("found_log_probs", "found_scores", "likely", "likely_tokens", "table")),
    ]


class Ended(NamedTuple):
    """An answer to the item at this place, with the log_prob of its end mark behind the others."""

    item: int
    score: float
    tokens: np.ndarray
    log_probs: np.ndarray


@dataclass
class Search:
    """All tensors are written in place. best_AN: the best scores of what has ended, best first. steps: tokens of each
    item's hypotheses. penalties: by which the sum of so many log_probs is divided, up to the longest with its end mark.
    """

    tokens_AKT: Tensor
    log_probs_AKT: Tensor
    total_AK: Tensor
    best_AN: Tensor
    steps: list[int]
    penalties: Tensor
    done: dict[int, bool] = field(default_factory=dict)
    """Items that are done, which stay as they were before their last step; and whether nothing could go on."""
    ended: list[Ended] = field(default_factory=list)
    """Of each item the best so many that ended in these steps, best first."""

    @property
    def fan(self) -> int:
        return self.total_AK.shape[1]

    @property
    def ways(self) -> int:
        """Tokens that are looked at behind each hypothesis: as in the source."""
        return 2 * self.fan


class Told:
    """How C is told of a search, and tells what came of it: it must live as long as the call.

    left: tokens that each item may still get. widest: columns of any other table whose rows fork as these do.
    """

    def __init__(self, search: Search, left: Sequence[int], widest: int) -> None:
        (A, K, T), N = search.tokens_AKT.shape, search.best_AN.shape[1]
        self.search = search
        self.steps, self.longest = array("q", search.steps), array("q", map(sum, zip(search.steps, left, strict=True)))
        self.ends_A, self.found_A = torch.zeros(A, dtype=torch.int64), torch.zeros(A, dtype=torch.int64)
        self.steps_AN, self.score_AN = torch.empty(A, N, dtype=torch.int64), torch.empty(A, N, dtype=torch.float64)
        self.tokens_ANT, self.log_probs_ANT = torch.empty(A, N, T, dtype=torch.int64), torch.empty(A, N, T)
        likely, many = torch.empty(A * K * search.ways), A * K * search.ways
        self.held = likely, *(torch.empty(size, dtype=torch.int64) for size in (many, K * max(T, widest)))
        written = search.tokens_AKT, search.log_probs_AKT, search.total_AK
        if not all(part.is_contiguous() for part in (*written, search.best_AN, search.penalties)):
            raise ValueError("hypotheses that do not lie side by side")
        made = self.ends_A, self.found_A, self.steps_AN, self.tokens_ANT, self.log_probs_ANT, self.score_AN
        self.form = Form(
            K, N, T, *(part.data_ptr() for part in written), self.steps.buffer_info()[0], self.longest.buffer_info()[0],
            *(part.data_ptr() for part in (search.best_AN, search.penalties, *made, *self.held)),
        )  # fmt: skip

    @property
    def address(self) -> int:
        return ctypes.addressof(self.form)

    def note(self) -> None:
        """What C says of it, behind its call."""
        search = self.search
        search.steps = self.steps.tolist()
        search.done = {a: end == STUCK for a, end in enumerate(self.ends_A.tolist()) if end}
        search.ended = list(self._ended())

    def _ended(self) -> Iterator[Ended]:
        tokens_ANT, log_probs_ANT = self.tokens_ANT.numpy(), self.log_probs_ANT.numpy()
        each = zip(self.found_A.tolist(), self.steps_AN.tolist(), self.score_AN.tolist(), strict=True)
        for a, (many, steps_N, score_N) in enumerate(each):
            for n, (steps, score) in enumerate(zip(steps_N[:many], score_N, strict=False)):
                tokens, log_probs = tokens_ANT[a, n, :steps].copy(), log_probs_ANT[a, n, : steps + 1].copy()
                yield Ended(a, score, tokens, log_probs)
