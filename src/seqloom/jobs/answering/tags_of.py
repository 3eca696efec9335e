"""The tags of sentences, of the scores of their words: each word's alone, or those of a whole chain."""
# B rows  T, W words  V tags

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.layers.chain import Links, best_tags, log_marginals, log_score, log_total
from seqloom.models.build import Model as Network
from seqloom.models.heads import chain_of


@dataclass(frozen=True)
class Tags:
    """log_probs_WV: of each tag for each word, whatever the others are. log_prob: of all tags together."""

    tags: tuple[int, ...]
    log_prob: float
    log_probs_WV: Tensor

    @property
    def each(self) -> list[float]:
        """log p of each tag, whatever the others are."""
        return self.log_probs_WV.gather(1, torch.tensor(self.tags, dtype=torch.int64)[:, None])[:, 0].tolist()


@torch.no_grad()
def tags_of(scores: Sequence[Tensor], links: Links | None, given: Sequence[Sequence[int]] | None = None) -> list[Tags]:
    """Of sentences, scores_WV each: the likeliest tags. links: of a chain; None: the scores are log-probabilities.

    given: these tags instead.
    """
    if links is None:
        return [_alone(scores_WV, None if given is None else given[row]) for row, scores_WV in enumerate(scores)]
    lengths_B = torch.tensor([len(scores_WV) for scores_WV in scores], device=links.end_V.device)
    scores_BTV = pad_sequence(list(scores), batch_first=True).to(links.end_V.device)
    if given is None:
        tags_BT = best_tags(scores_BTV, lengths_B, links)
    else:
        tags_BT = pad_sequence([torch.tensor(tags) for tags in given], batch_first=True).to(scores_BTV.device)
    marginals_BTV = log_marginals(scores_BTV, lengths_B, links).cpu()
    total_B = log_score(scores_BTV, tags_BT, lengths_B, links) - log_total(scores_BTV, lengths_B, links)
    return [
        Tags(tuple(tags[:length]), total, marginals_TV[:length])
        for tags, total, marginals_TV, length in zip(
            tags_BT.tolist(), total_B.tolist(), marginals_BTV, lengths_B.tolist(), strict=True
        )
    ]


def _alone(log_probs_WV: Tensor, given: Sequence[int] | None) -> Tags:
    log_probs_WV = log_probs_WV.cpu()
    tags = Tags(tuple(log_probs_WV.argmax(-1).tolist() if given is None else given), 0.0, log_probs_WV)
    return Tags(tags.tags, math.fsum(tags.each), log_probs_WV)


def links_of(*networks: Network) -> Links | None:
    """The mean of networks that answer together: who has no chain links nothing. None: nobody has one."""
    chains = [chain for network in networks if (chain := chain_of(network.head)) is not None]
    if not chains:
        return None
    own = [chain.links for chain in chains]
    return Links.mean([*own, *(own[0].none() for _ in range(len(networks) - len(own)))])


def together(each: Sequence[Tensor], voices: Sequence[int], chained: bool) -> Tensor:
    """What several say of the same: the logarithm of their mean probability; of a chain's scores their mean."""
    shares = [count / sum(voices) for count in voices]
    if chained:
        return torch.stack([scores * share for scores, share in zip(each, shares, strict=True)]).sum(0)
    return torch.stack([scores + math.log(share) for scores, share in zip(each, shares, strict=True)]).logsumexp(0)
