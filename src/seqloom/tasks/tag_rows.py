"""The words of a batch with the scores of their tags and the tags that they should have, for a chain."""
# B rows  T words of the longest row  V tags

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from seqloom.layers.chain import Links, best_tags, exact, log_marginals, log_score, log_total
from seqloom.layers.layout import Layout
from seqloom.layers.word_rows import WordRows
from seqloom.text.labels import NONE, UNSEEN


@dataclass(frozen=True)
class TagRows:
    """goal_BT: UNSEEN where no model can give the tag. Pieces that begin no word are not here."""

    scores_BTV: Tensor
    goal_BT: Tensor
    words: WordRows

    @classmethod
    def of(cls, scores: Tensor, layout: Layout, goal: Tensor) -> Self:
        """goal: NONE where no word begins.

        A chain is the same whatever is added to all scores of a word: brought to probabilities, sums over many words
        stay small.
        """
        words = WordRows.of(layout, goal != NONE)
        return cls(words.take(exact(scores)).log_softmax(-1), words.take(goal), words)

    @property
    def _real_BT(self) -> Tensor:
        return torch.arange(self.goal_BT.shape[1], device=self.goal_BT.device) < self.words.lengths_B[:, None]

    def loss(self, links: Links, smoothing: float = 0.0) -> Tensor:
        """The sum of −log p(goal). smoothing: each tag is another with this chance, any being as likely (Szegedy et al.
        2016, for the cross-entropy of whole sequences).

        Of words whose tag no model can give all tags are summed; training has no such words.
        """
        lengths_B = self.words.lengths_B
        total_B = log_total(self.scores_BTV, lengths_B, links)
        if not torch.is_grad_enabled() and bool((self._real_BT & (self.goal_BT == UNSEEN)).any()):
            return (total_B - self._log_open(links)).sum()
        scores_BTV = self.scores_BTV
        if smoothing:
            scores_BTV = (1 - smoothing) * scores_BTV + smoothing * scores_BTV.mean(-1, keepdim=True)
            links = links.smoothed(smoothing)
        return (total_B - log_score(scores_BTV, self.goal_BT, lengths_B, links)).sum()

    def _log_open(self, links: Links) -> Tensor:
        """Of all sequences that have the known tags."""
        tags_V = torch.arange(self.scores_BTV.shape[-1], device=self.goal_BT.device)
        other_BTV = (self.goal_BT[..., None] >= 0) & (self.goal_BT[..., None] != tags_V)
        closed_BTV = self.scores_BTV.masked_fill(other_BTV & self._real_BT[..., None], -torch.inf)
        return log_total(closed_BTV, self.words.lengths_B, links)

    def apart(self, other: Self, links: Links) -> Tensor:
        """KL(p‖q) + KL(q‖p), summed over rows: what both expect of the scores in which they differ."""
        lengths_B = self.words.lengths_B
        p_BTV, q_BTV = (log_marginals(each.scores_BTV, lengths_B, links).exp() for each in (self, other))
        apart_BT = ((p_BTV - q_BTV) * (self.scores_BTV - other.scores_BTV)).sum(-1)
        return torch.where(self._real_BT, apart_BT, 0).sum()

    def best(self, links: Links) -> Tensor:
        """The likeliest tags in the layout's own form; NONE where no word begins."""
        return self.words.put(best_tags(self.scores_BTV, self.words.lengths_B, links), NONE)
