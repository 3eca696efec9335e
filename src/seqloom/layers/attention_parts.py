"""Attention spelled out: all that it makes between what it reads and what it returns."""
# B rows  H query heads  G key heads  T queries  S keys  K key width  V value width

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.layers.attend import attention_scores, seen_softmax, share
from seqloom.layers.positions.relative import Relative
from seqloom.layers.scores import Score


@dataclass(frozen=True)
class AttentionParts:
    """Flush left. Queries and keys are as the score compares them: mapped already where it maps them."""

    q_BHTK: Tensor
    k_BGSK: Tensor
    v_BGSV: Tensor
    bias_BHTS: Tensor | None
    """What relative positions add to the scores; it is in them."""
    scores_BHTS: Tensor
    see_BTS: Tensor | None
    """True where a query may see a key; None: everywhere."""
    weights_BHTS: Tensor
    mixed_BHTV: Tensor
    """What each head found."""
    relative: Relative | None = None
    at_BT: Tensor | None = None

    @property
    def masked_BHTS(self) -> Tensor:
        """The scores, -∞ where a key is hidden."""
        if self.see_BTS is None:
            return self.scores_BHTS
        return self.scores_BHTS.masked_fill(~self.see_BTS[:, None], -torch.inf)

    def weighing(self, weights_BHTS: Tensor) -> "AttentionParts":
        """The same with other weights."""
        mixed_BHTV = _mixed(weights_BHTS, self.v_BGSV, self.relative, self.at_BT)
        return replace(self, weights_BHTS=weights_BHTS, mixed_BHTV=mixed_BHTV)


def attention_parts(
    q_BHTK: Tensor,
    k_BGSK: Tensor,
    v_BGSV: Tensor,
    score: Score,
    see_BTS: Tensor | None,
    bias_BHTS: Tensor | None = None,
    relative: Relative | None = None,
    at_BT: Tensor | None = None,
) -> AttentionParts:
    """By the equation, without dropout; see `attend`."""
    scores_BHTS = attention_scores(q_BHTK, k_BGSK, score, bias_BHTS)
    weights_BHTS = seen_softmax(scores_BHTS, see_BTS)
    mixed_BHTV = _mixed(weights_BHTS, v_BGSV, relative, at_BT)
    return AttentionParts(
        q_BHTK, k_BGSK, v_BGSV, bias_BHTS, scores_BHTS, see_BTS, weights_BHTS, mixed_BHTV, relative, at_BT
    )


def _mixed(weights_BHTS: Tensor, v_BGSV: Tensor, relative: Relative | None, at_BT: Tensor | None) -> Tensor:
    mixed_BHTV = torch.matmul(weights_BHTS, share(v_BGSV, weights_BHTS.shape[1]))
    if relative is None or not relative.mixes_values or at_BT is None:
        return mixed_BHTV
    return mixed_BHTV + relative.mixed(weights_BHTS, at_BT)
