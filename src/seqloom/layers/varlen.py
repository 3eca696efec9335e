"""Attention over packed rows as they are: a GPU kernel that is told where each sequence begins."""
# N query tokens  M key tokens  H query heads  G key heads  K head width

import torch
from torch import Tensor

from seqloom.layers.layout import Layout, Packed
from seqloom.layers.masks import Sight
from seqloom.layers.paths import fast
from seqloom.layers.scores import Score

WIDEST = 256  # of a head, for the kernel


def fits(q_NHK: Tensor, score: Score, sight: Sight, biased: bool, dropout: float, *layouts: Layout) -> bool:
    """Whether the kernel can do it: half precision on a GPU, a dot product, nothing added and nothing dropped."""
    return (
        fast()
        and q_NHK.is_cuda
        and q_NHK.dtype in (torch.bfloat16, torch.float16)
        and q_NHK.shape[-1] % 8 == 0
        and q_NHK.shape[-1] <= WIDEST
        and all(isinstance(layout, Packed) for layout in layouts)
        and score.scale is not None
        and sight.block is None
        and sight.structure_BTS is None
        and not biased
        and dropout == 0
    )


def attend_packed(
    q_NHK: Tensor, k_MGK: Tensor, v_MGK: Tensor, queries: Packed, keys: Packed, scale: float, sight: Sight
) -> Tensor:
    """y_NHK: each token over its own row's keys."""
    from torch.nn.attention.varlen import varlen_attn

    q_NHK, k_MGK, v_MGK = _framed(q_NHK, queries), _framed(k_MGK, keys), _framed(v_MGK, keys)
    reach = -1 if sight.window is None else sight.window - 1
    shared = q_NHK.shape[1] // k_MGK.shape[1]
    if shared > 1:
        k_MGK, v_MGK = (x.repeat_interleave(shared, 1) for x in (k_MGK, v_MGK))
    y_NHK: Tensor = varlen_attn(  # type: ignore[assignment]  # a pair only if asked for
        q_NHK,
        k_MGK,
        v_MGK,
        queries.offsets_B1,
        keys.offsets_B1,
        queries.longest,
        keys.longest,
        scale=scale,
        window_size=(reach, 0 if sight.causal else reach),
    )
    return _framed(y_NHK, queries)


def _framed(x_NHK: Tensor, layout: Packed) -> Tensor:
    """The kernel leaves filler behind the last row unwritten, in its output and in its gradients: zeros instead."""
    return x_NHK if layout.real_N is None else torch.where(layout.real_N[:, None, None], x_NHK, 0)
