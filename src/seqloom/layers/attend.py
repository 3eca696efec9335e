"""Attention itself: average the values, weighted by how well queries and keys match. Plain and fast."""
# B rows  H query heads  G key heads  T queries  S keys  K key width  V value width  C chunk

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from seqloom.layers.dropout import dropped
from seqloom.layers.masks import Sight
from seqloom.layers.paths import fast
from seqloom.layers.positions.relative import Relative
from seqloom.layers.scores import Score

# all but cuDNN's, which plans anew for each new shape: with batches of changing shapes, a step takes many times longer
GPU_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def attention_weights(
    q_BHTK: Tensor, k_BGSK: Tensor, score: Score, see_BTS: Tensor | None, bias_BHTS: Tensor | None = None
) -> Tensor:
    """softmax over the keys of score(q, k) + bias. A row that may see nothing gets zeros, not 0 / 0."""
    return seen_softmax(attention_scores(q_BHTK, k_BGSK, score, bias_BHTS), see_BTS)


def attention_scores(q_BHTK: Tensor, k_BGSK: Tensor, score: Score, bias_BHTS: Tensor | None = None) -> Tensor:
    """score(q, k) + bias, before anything is hidden."""
    scores_BHTS = score.compare(q_BHTK, share(k_BGSK, q_BHTK.shape[1]))
    return scores_BHTS if bias_BHTS is None else scores_BHTS + bias_BHTS


def seen_softmax(scores_BHTS: Tensor, see_BTS: Tensor | None) -> Tensor:
    """softmax over the keys that may be seen; None: all."""
    if see_BTS is None:
        return scores_BHTS.softmax(-1)
    see_B1TS = see_BTS[:, None]
    # the lowest finite number and not -∞: the softmax is 0 there all the same, and an all-masked row has no NaN
    lowest = torch.finfo(scores_BHTS.dtype).min
    return scores_BHTS.masked_fill(~see_B1TS, lowest).softmax(-1).masked_fill(~see_B1TS, 0)


def attend(
    q_BHTK: Tensor,
    k_BGSK: Tensor,
    v_BGSV: Tensor,
    *,
    score: Score,
    sight: Sight,
    at_BT: Tensor,
    relative: Relative | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """y_BHTV. Queries and keys are prepared by the score; at_BT are the queries' positions.

    Vaswani et al. 2017, eq. 1, for any score, mask and relative position.
    """
    S = k_BGSK.shape[2]
    bias = position_bias(relative, q_BHTK, at_BT, S, sight, score)
    mixes = relative is not None and relative.mixes_values
    if fast() and score.scale is not None and not mixes:
        if bias is None and sight.kernel_causal:
            return _kernel(q_BHTK, k_BGSK, v_BGSV, score.scale, dropout, causal=True)
        blocks = sight.kernel_causal_blocks and sight.lengths_B is None
        if bias is None and blocks and sight.block is not None and sight.block < S:
            return _attend_blocks(q_BHTK, k_BGSK, v_BGSV, score.scale, sight.block, dropout)
        span = sight.window or sight.block
        if bias is None and sight.from_start and span is not None and 2 * span < S and sight.structure_BTS is None:
            return _attend_near(q_BHTK, k_BGSK, v_BGSV, score.scale, sight, dropout)
        mask = sight.mask(at_BT, S)
        if mask is not None and bias is None and sight.surely:
            return _kernel(q_BHTK, k_BGSK, v_BGSV, score.scale, dropout, mask[:, None])
        return _attend_masked(q_BHTK, k_BGSK, v_BGSV, score.scale, mask, bias, dropout)
    weights_BHTS = attention_weights(q_BHTK, k_BGSK, score, sight.mask(at_BT, S), bias)
    weights_BHTS = dropped(weights_BHTS, dropout)
    y_BHTV = torch.matmul(weights_BHTS, share(v_BGSV, q_BHTK.shape[1]))
    return y_BHTV + relative.mixed(weights_BHTS, at_BT) if relative is not None and mixes else y_BHTV


def position_bias(
    relative: Relative | None, q_BHTK: Tensor, at_BT: Tensor, keys: int, sight: Sight, score: Score
) -> Tensor | None:
    """What relative positions add to the scores: bias_BHTS."""
    bias = None if relative is None else relative.bias(q_BHTK, at_BT, keys, sight.from_start)
    if bias is None or relative is None or not relative.scaled or score.scale is None:
        return bias
    return bias * score.scale


def share(x_BGSK: Tensor, heads: int) -> Tensor:
    """Each key head serves heads / G query heads (Shazeer 2019 with G = 1; Ainslie et al. 2023)."""
    groups = x_BGSK.shape[1]
    return x_BGSK if groups == heads else x_BGSK.repeat_interleave(heads // groups, 1)


def _kernel(
    q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    grouped = q.shape[1] != k.shape[1]
    if not q.is_cuda:
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=grouped)
    with sdpa_kernel(GPU_KERNELS):
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=grouped)


def _attend_masked(
    q: Tensor, k: Tensor, v: Tensor, scale: float, see_BTS: Tensor | None, bias: Tensor | None, dropout: float
) -> Tensor:
    if see_BTS is None:
        return _kernel(q, k, v, scale, dropout, None if bias is None else bias.to(q.dtype))
    see_B1TS = see_BTS[:, None]
    sighted_B1T1 = see_B1TS.any(-1, keepdim=True)
    # who sees nothing looks at everything, so that no NaN is made, and is set to zero afterwards
    mask = see_B1TS | ~sighted_B1T1
    if bias is not None:
        mask = bias.to(q.dtype).masked_fill(~mask, torch.finfo(q.dtype).min)
    return _kernel(q, k, v, scale, dropout, mask) * sighted_B1T1.to(q.dtype)


def _attend_blocks(q: Tensor, k: Tensor, v: Tensor, scale: float, block: int, dropout: float) -> Tensor:
    """Causal blocks are rows of their own: no mask is made, and what fills up the last block stands behind it."""
    T = q.shape[2]
    fill = (0, 0, 0, -T % block)
    rows = [F.pad(x, fill).unflatten(2, (-1, block)).transpose(1, 2) for x in (q, k, v)]
    flat = [x.flatten(0, 1) for x in rows]
    y_RHCV = _kernel(flat[0], flat[1], flat[2], scale, dropout, causal=True)
    return y_RHCV.unflatten(0, rows[0].shape[:2]).transpose(1, 2).flatten(2, 3)[:, :, :T]


def _attend_near(q: Tensor, k: Tensor, v: Tensor, scale: float, sight: Sight, dropout: float) -> Tensor:
    """Windows and blocks in linear time: each chunk of queries meets only the chunks of keys that it may see."""
    T = q.shape[2]
    C = sight.window or sight.block
    assert C is not None
    chunks = -(-T // C)
    behind, ahead = (1, 0 if sight.causal else 1) if sight.window else (0, 0)
    q_BnHCK = F.pad(q, (0, 0, 0, chunks * C - T)).unflatten(2, (chunks, C)).transpose(1, 2)
    # key chunk c stands at c + behind in the padded row, so query chunk c meets behind + 1 + ahead chunks from c on
    fill = (0, 0, behind * C, (chunks + ahead) * C - T)
    near = [F.pad(x, fill).unfold(2, (behind + 1 + ahead) * C, C).permute(0, 2, 1, 4, 3) for x in (k, v)]
    at_nC = torch.arange(chunks * C, device=q.device).view(chunks, C)
    key_nS = at_nC[:, :1] - behind * C + torch.arange(near[0].shape[3], device=q.device)
    away_nCS = key_nS[:, None] - at_nC[..., None]
    see_nCS = (key_nS >= 0)[:, None] & (away_nCS.abs() < C)
    if sight.causal:
        see_nCS = see_nCS & (away_nCS <= 0)
    ends_B = torch.full((1,), T, device=q.device) if sight.lengths_B is None else sight.lengths_B
    see_BnCS = see_nCS & (key_nS[:, None] < ends_B[:, None, None, None])
    flat = [x.flatten(0, 1) for x in (q_BnHCK, *near, see_BnCS.expand(q.shape[0], -1, -1, -1))]
    y_BnHCV = _attend_masked(flat[0], flat[1], flat[2], scale, flat[3], None, dropout).unflatten(0, (-1, chunks))
    return y_BnHCV.transpose(1, 2).flatten(2, 3)[:, :, :T]
