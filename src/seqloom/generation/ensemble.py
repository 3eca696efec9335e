"""Several models that write together."""
# B items  R rows  V tokens  S source positions  M members

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.generation.contract import Item, Scorer
from seqloom.layers.mixer import State
from seqloom.settings import UserError


class Ensemble:
    """The mean of the members' probabilities at each step, and of their attention where they have any.

    Their tokens must mean the same; here only the number of tokens and the end mark can be compared.
    """

    def __init__(self, members: Sequence[Scorer], weights: Sequence[float] | None = None) -> None:
        """weights: how much each member counts, up to a factor; None: all alike."""
        if not members:
            raise UserError("an ensemble needs at least one model")
        if weights is not None and (len(weights) != len(members) or min(weights) <= 0):
            raise UserError(f"{len(members)} models need as many weights, each above 0; not {list(weights)}")
        first = members[0]
        for number, member in enumerate(members[1:], 2):
            for name, what in (("size", "tokens"), ("end", "as the end mark"), ("begin", "as the begin mark")):
                one, other = getattr(first, name), getattr(member, name)
                if one != other:
                    raise UserError(
                        f"these models cannot write together: the first has {one} {what}, number {number} has {other}; "
                        "train them with the same vocabulary"
                    )
        self.members = tuple(members)
        self.begin, self.end, self.size = first.begin, first.end, first.size
        given = torch.tensor(weights if weights is not None else [1.0] * len(members), dtype=torch.float64)
        self.shares = (given / given.sum()).tolist()

    def start(self, items: Sequence[Item]) -> tuple[State, Tensor]:
        started = [member.start(items) for member in self.members]
        last_B = started[0][1]
        if any(not torch.equal(other_B, last_B) for _, other_B in started):
            raise UserError("these models cannot write together: their answers begin behind different tokens")
        return tuple(state for state, _ in started), last_B

    def step(self, last_R: Tensor, state: State, attention: bool) -> tuple[Tensor, Tensor | None, State]:
        """One member alone gives exactly what it says."""
        stepped = [member.step(last_R, part, attention) for member, part in zip(self.members, state, strict=True)]
        states = tuple(part for _, _, part in stepped)
        if len(stepped) == 1:
            return *stepped[0][:2], states
        shares_M = torch.tensor(self.shares, dtype=stepped[0][0].dtype, device=stepped[0][0].device)
        log_probs_MRV = torch.stack([log_probs_RV for log_probs_RV, _, _ in stepped])
        log_probs_RV = (log_probs_MRV + shares_M.log()[:, None, None]).logsumexp(0)
        seen = [(share, weights) for share, (_, weights, _) in zip(self.shares, stepped, strict=True)]
        return log_probs_RV, _mean_attention(seen), states


def _mean_attention(seen: Sequence[tuple[float, Tensor | None]]) -> Tensor | None:
    """attention_RS, of the members that have one; narrower ones are filled up with zeros."""
    there = [(share, weights_RS) for share, weights_RS in seen if weights_RS is not None]
    if not there:
        return None
    wide = max(weights_RS.shape[1] for _, weights_RS in there)
    total = sum(share for share, _ in there)
    parts = [F.pad(weights_RS, (0, wide - weights_RS.shape[1])) * (share / total) for share, weights_RS in there]
    return torch.stack(parts).sum(0)
