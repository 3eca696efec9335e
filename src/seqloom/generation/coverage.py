"""What was left unread: a penalty for source positions that got less than one token's attention in all."""
# B hypotheses, in any shape  S source positions

import torch
from torch import Tensor

LEAST = torch.finfo(torch.float32).tiny
"""What is read less counts as so much, also where attention came out as exactly 0."""


def coverage(read_BS: Tensor, lengths_B: Tensor, weight: float) -> Tensor:
    """weight · Σ_s log min(read_s, 1), over the last axis; never above 0 (Wu et al. 2016, eq. 14).

    read_BS: attention summed over the tokens written. lengths_B: positions of each source; what is behind is padding.
    """
    real_BS = torch.arange(read_BS.shape[-1], device=read_BS.device) < lengths_B[..., None]
    cost_BS = read_BS.double().clamp(LEAST, 1).log()
    return weight * torch.where(real_BS, cost_BS, 0).sum(-1)
