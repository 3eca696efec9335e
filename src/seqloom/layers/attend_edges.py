"""Attention along edges: time and memory grow with their number, not with the square of the nodes."""
# M places of all rows, padded and laid end to end  E edges  H query heads  G key heads  K key width  V value width

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.scores import Score


def attend_edges(
    q_MHK: Tensor,
    k_MGK: Tensor,
    v_MGV: Tensor,
    query_E: Tensor,
    key_E: Tensor,
    score: Score,
    dropout: float = 0.0,
) -> Tensor:
    """y_MHV: each query's mean of the values at the other ends of its edges; who has no edge gets zeros.

    Veličković et al. 2018, eq. 2 to 4, for any score.
    """
    M, H, _ = q_MHK.shape
    each = H // k_MGK.shape[1]  # heads that share a key head
    q_MHK = score.query(q_MHK.transpose(0, 1)[None])[0].transpose(0, 1)
    k_MGK = score.key(k_MGK.transpose(0, 1)[None])[0].transpose(0, 1)
    k_MHK, v_MHV = (x if each == 1 else x.repeat_interleave(each, 1) for x in (k_MGK, v_MGV))
    weights_EH = edge_weights(score.along(q_MHK, k_MHK, query_E, key_E), query_E, M)
    weights_EH = F.dropout(weights_EH, dropout).to(v_MHV.dtype) if dropout else weights_EH.to(v_MHV.dtype)
    y_MHV = v_MHV.new_zeros(M, H, v_MHV.shape[2])
    return y_MHV.index_add(0, query_E, weights_EH[..., None] * v_MHV.index_select(0, key_E))


def edge_weights(scores_EH: Tensor, query_E: Tensor, places: int) -> Tensor:
    """A softmax for each query over its own edges, in single precision at least."""
    scores_EH = scores_EH.to(torch.promote_types(scores_EH.dtype, torch.float32))
    E, H = scores_EH.shape
    # any number will do as far as the softmax goes; each query's own largest keeps exp from growing beyond all bounds
    with torch.no_grad():
        top_MH = scores_EH.new_full((places, H), float("-inf"))
        top_EH = top_MH.scatter_reduce(0, query_E[:, None].expand(E, H), scores_EH, "amax").index_select(0, query_E)
    exp_EH = (scores_EH - top_EH).exp()
    sum_MH = exp_EH.new_zeros(places, H).index_add(0, query_E, exp_EH)
    return exp_EH / sum_MH.index_select(0, query_E)
