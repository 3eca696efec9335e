"""The likeliest tokens of each row, from its scores, without waiting for a device."""
# R rows  V tokens  C tokens that are looked for

import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING, likeliest
from seqloom.layers.kernels import usable


def tops(scores_RV: Tensor, never_V: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """log_prob_RC in float32 and token_RC, best first; of equals the lower token.

    never_V: tokens that are not taken. They keep their share, so that an answer's log_prob is what the model says.
    """
    count = min(count, scores_RV.shape[1])
    if usable(scores_RV) and scores_RV.dtype != torch.float64:
        from seqloom.layers.kernels.top import MOST, likeliest_tokens

        if count <= MOST:
            return likeliest_tokens(scores_RV, never_V.view(torch.uint8), count)
    log_probs_RV = scores_RV.float().log_softmax(-1)
    no_number_R1 = log_probs_RV[:, :1].isnan()  # one makes all of its row so
    log_probs_RV = log_probs_RV.masked_fill(never_V, NOTHING)
    if not scores_RV.is_cuda:
        best_RC, token_RC = likeliest(log_probs_RV, count)
        return best_RC.masked_fill(no_number_R1, torch.nan), token_RC
    best_RV, token_RV = log_probs_RV.sort(dim=-1, descending=True, stable=True)
    return best_RV[:, :count], token_RV[:, :count]
