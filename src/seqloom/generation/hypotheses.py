"""What is being written, as tensors: hypotheses fork, leave and join in a few operations for all of them."""
# A items  K hypotheses to each  T tokens written at most so far  P tokens of a prefix  S source positions  N answers

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.generation.contract import Item
from seqloom.layers.mixer import join, reorder

NOTHING = -torch.inf
"""The log_prob of a place in the beam that holds no hypothesis."""


@dataclass(frozen=True)
class Hypotheses:
    """All hypotheses to one item are equally long. Rows of the scorer's state are these, item by item."""

    tokens_AKT: Tensor
    log_probs_AKT: Tensor
    total_AK: Tensor
    """Sum of the log_probs, in float64, so that no order of adding matters."""
    step_A: Tensor
    """Tokens written so far."""
    shortest_A: Tensor
    longest_A: Tensor
    prefix_AP: Tensor
    """-1: free."""
    number_A: Tensor
    sample_A: Tensor
    best_AN: Tensor
    """The best scores of answers that have ended."""
    shortest: int
    """The largest of shortest_A, known without asking the device."""
    attention_AKTS: Tensor | None
    read_AKS: Tensor | None
    """Attention summed over the tokens, for the coverage penalty."""

    @classmethod
    def begin(
        cls, items: Sequence[Item], samples: Sequence[int], beam: int, keep: int, device: torch.device, *, trace: bool
    ) -> Self:
        """One empty hypothesis to each item. keep: scores of ended answers to remember. trace: keep attention."""

        def numbers(of: Sequence[int]) -> Tensor:
            return torch.tensor(of, dtype=torch.int64, device=device)

        rows = len(items)
        room = max((len(item.prefix) for item in items), default=0)
        total_AK = torch.full((rows, beam), NOTHING, dtype=torch.float64, device=device)
        total_AK[:, 0] = 0
        return cls(
            tokens_AKT=torch.zeros(rows, beam, 0, dtype=torch.int64, device=device),
            log_probs_AKT=torch.zeros(rows, beam, 0, device=device),
            total_AK=total_AK,
            step_A=numbers([0] * rows),
            shortest_A=numbers([item.shortest for item in items]),
            longest_A=numbers([item.longest for item in items]),
            prefix_AP=numbers([[*item.prefix, *[-1] * (room - len(item.prefix))] for item in items]).view(rows, room),
            number_A=numbers([item.number for item in items]),
            sample_A=numbers(samples),
            best_AN=torch.full((rows, keep), NOTHING, dtype=torch.float64, device=device),
            shortest=max((item.shortest for item in items), default=0),
            attention_AKTS=torch.zeros(rows, beam, 0, 0, device=device) if trace else None,
            read_AKS=torch.zeros(rows, beam, 0, device=device) if trace else None,
        )

    @property
    def count(self) -> int:
        return self.total_AK.shape[0]

    @property
    def beam(self) -> int:
        return self.total_AK.shape[1]

    @classmethod
    def join(cls, parts: Sequence["Hypotheses"]) -> "Hypotheses":
        """All under each other, no wider than the longest needs."""
        steps = max((int(part.step_A.max()) for part in parts if part.count), default=0)
        prefix = max(part.prefix_AP.shape[1] for part in parts)
        shortest = max(part.shortest for part in parts)
        source = max(0 if part.read_AKS is None else part.read_AKS.shape[-1] for part in parts)
        parts = [part._resized(steps, prefix, source, shortest) for part in parts]
        joined = {name: join([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__}
        return cls(**joined)

    def _resized(self, steps: int, prefix: int, source: int, shortest: int) -> "Hypotheses":
        attention, read = self.attention_AKTS, self.read_AKS
        if attention is not None and read is not None:
            attention = _wide(attention.transpose(-1, -2), steps).transpose(-1, -2)
            attention, read = _wide(attention, source), _wide(read, source)
        return replace(
            self,
            shortest=shortest,
            tokens_AKT=_wide(self.tokens_AKT, steps),
            log_probs_AKT=_wide(self.log_probs_AKT, steps),
            prefix_AP=_wide(self.prefix_AP, prefix, -1),
            attention_AKTS=attention,
            read_AKS=read,
        )

    def rows(self, keep_A: Tensor) -> "Hypotheses":
        return reorder(self, keep_A)


def _wide(x: Tensor, width: int, fill: int = 0) -> Tensor:
    """The last axis with this width: filled up or cut."""
    return x if x.shape[-1] == width else F.pad(x, (0, width - x.shape[-1]), value=fill)
