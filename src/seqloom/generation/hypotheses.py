"""What is being written, as tensors: hypotheses fork, leave and join in a few operations for all of them."""
# A items  K hypotheses to each  T tokens written at most so far  P tokens of a prefix  S source positions  N answers

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.generation.beam import NOTHING, Candidates
from seqloom.generation.contract import Item
from seqloom.layers.mixer import join

ROOM = 16  # tokens by which the tensors grow


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
    source_A: Tensor
    """Positions of what is read, the end mark included."""
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
        cls,
        items: Sequence[Item],
        samples: Sequence[int],
        device: torch.device,
        *,
        beam: int,
        groups: int,
        keep: int,
        trace: bool,
    ) -> Self:
        """One empty hypothesis to each item and group. keep: scores of ended answers. trace: attention too."""

        def numbers(of: Sequence[int]) -> Tensor:
            return torch.tensor(of, dtype=torch.int64, device=device)

        rows = len(items)
        room = max((len(item.prefix) for item in items), default=0)
        prefixes = [[*item.prefix, *[-1] * (room - len(item.prefix))] for item in items]
        total_AK = torch.full((rows, beam), NOTHING, dtype=torch.float64, device=device)
        total_AK[:, :: beam // groups] = 0
        return cls(
            tokens_AKT=torch.zeros(rows, beam, 0, dtype=torch.int64, device=device),
            log_probs_AKT=torch.zeros(rows, beam, 0, device=device),
            total_AK=total_AK,
            step_A=numbers([0] * rows),
            shortest_A=numbers([item.shortest for item in items]),
            longest_A=numbers([item.longest for item in items]),
            prefix_AP=numbers([token for p in prefixes for token in p]).view(rows, room),
            source_A=numbers([len(item.source) + 1 for item in items]),
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

    def attended(self, attention_RS: Tensor, most: int) -> "Hypotheses":
        """With what this step reads, which belongs to the token that is to come. most: tokens of the longest."""
        assert self.attention_AKTS is not None
        assert self.read_AKS is not None
        new_AKS = attention_RS.view(*self.total_AK.shape, -1)
        S = new_AKS.shape[-1]  # no source is longer: what was wider was of items that are done
        attention_AKTS = _wide(self.attention_AKTS, S)
        if attention_AKTS.shape[2] <= most:
            attention_AKTS = F.pad(attention_AKTS, (0, 0, 0, ROOM))
        at = self.step_A[:, None, None, None].expand(-1, self.beam, 1, S)
        attention_AKTS = attention_AKTS.scatter(2, at, new_AKS[:, :, None])
        return replace(self, attention_AKTS=attention_AKTS, read_AKS=_wide(self.read_AKS, S) + new_AKS)

    def roomier(self, steps: int) -> "Hypotheses":
        """With room for tokens up to so many, which somebody may write in place."""
        if self.tokens_AKT.shape[2] >= steps:
            return self
        size = max(steps, self.tokens_AKT.shape[2] + ROOM)
        return replace(self, tokens_AKT=_wide(self.tokens_AKT, size), log_probs_AKT=_wide(self.log_probs_AKT, size))

    def extended(self, going: Candidates, most: int) -> "Hypotheses":
        """Behind these candidates. most: tokens of the longest hypothesis before."""
        tokens_AKT, log_probs_AKT = self.tokens_AKT, self.log_probs_AKT
        attention, read = self.attention_AKTS, self.read_AKS
        if self.beam > 1:
            tokens_AKT, log_probs_AKT = (_forked(part, going.origin_AC) for part in (tokens_AKT, log_probs_AKT))
            attention = None if attention is None else _forked(attention, going.origin_AC)
            read = None if read is None else _forked(read, going.origin_AC)
        if tokens_AKT.shape[2] <= most:
            tokens_AKT, log_probs_AKT = F.pad(tokens_AKT, (0, ROOM)), F.pad(log_probs_AKT, (0, ROOM))
        at = self.step_A[:, None, None].expand(-1, self.beam, 1)
        return replace(
            self,
            tokens_AKT=tokens_AKT.scatter(2, at, going.token_AC[..., None]),
            log_probs_AKT=log_probs_AKT.scatter(2, at, going.log_prob_AC[..., None]),
            total_AK=going.total_AC,
            step_A=self.step_A + 1,
            attention_AKTS=attention,
            read_AKS=read,
        )


def _forked(x_AK: Tensor, origin_AK: Tensor) -> Tensor:
    return x_AK.gather(1, origin_AK.view(*origin_AK.shape, *(1,) * (x_AK.dim() - 2)).expand_as(x_AK))


def _wide(x: Tensor, width: int, fill: int = 0) -> Tensor:
    """The last axis with this width: filled up or cut."""
    return x if x.shape[-1] == width else F.pad(x, (0, width - x.shape[-1]), value=fill)
