"""What was left unread: a penalty for source positions that got less than one token's attention in all."""
# S source positions

import torch
from torch import Tensor


def coverage(read_S: Tensor, weight: float) -> Tensor:
    """weight · Σ_s log min(read_s, 1), over the last axis; never above 0 (Wu et al. 2016, eq. 14).

    read_S: attention summed over the tokens written. Padding has none at all and does not count.
    """
    read_S = read_S.double()
    return weight * torch.where(read_S > 0, read_S, 1).clamp(max=1).log().sum(-1)
