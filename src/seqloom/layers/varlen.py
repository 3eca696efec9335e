"""Attention over packed rows as they are: GPU kernels that are told where each sequence begins."""
# N query tokens  M key tokens  H query heads  G key heads  K head width

import torch
from torch import Tensor

from seqloom.layers.kernels import has_triton
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.masks import Sight
from seqloom.layers.paths import fast
from seqloom.layers.scores import Score

WIDEST = 256  # of a head, for torch's kernel
WIDEST_TILED = 128  # and for ours
SHORT = 256  # tokens a row, in the mean: up to there our tiles are faster, measured on an H200
NOWHERE = 2**31 - 1


def fits(q_NHK: Tensor, score: Score, sight: Sight, biased: bool, dropout: float, *layouts: Layout) -> bool:
    """Whether a kernel can do it: half precision on a GPU, a dot product, nothing added to the scores."""
    return (
        fast()
        and q_NHK.is_cuda
        and q_NHK.dtype in (torch.bfloat16, torch.float16)
        and q_NHK.shape[-1] % 8 == 0
        and q_NHK.shape[-1] <= WIDEST
        and all(isinstance(layout, Packed) for layout in layouts)
        and score.scale is not None
        and sight.structure_BTS is None
        and not biased
        and ((sight.block is None and dropout == 0) or (has_triton() and q_NHK.shape[-1] <= WIDEST_TILED))
    )


def attend_packed(
    q_NHK: Tensor,
    k_MGK: Tensor,
    v_MGK: Tensor,
    queries: Packed,
    keys: Packed,
    scale: float,
    sight: Sight,
    dropout: float = 0.0,
) -> Tensor:
    """y_NHK: each token over its own row's keys."""
    needed = sight.block is not None or dropout > 0
    short = len(keys.row_N) <= SHORT * keys.rows and q_NHK.shape[-1] <= WIDEST_TILED and has_triton()
    if not (needed or short):
        return _by_rows(q_NHK, k_MGK, v_MGK, queries, keys, scale, sight)
    from seqloom.layers.kernels.tiles import Tiled

    seen_2N, seen_2M = seen(queries, keys, sight), seen(keys, queries, sight, back=True)
    y_NHK: Tensor = Tiled.apply(q_NHK, k_MGK, v_MGK, seen_2N, seen_2M, scale, dropout)  # type: ignore[no-untyped-call]
    return y_NHK


def seen(layout: Packed, over: Packed, sight: Sight, back: bool = False) -> Tensor:
    """The first token of another layout that each token sees, and the one behind the last: low and high.

    back: by which queries each key is seen.
    """
    key = "seen", id(over), sight.causal, sight.window, sight.block, back
    if key not in layout.memo:
        # the other layout is kept too, as its number would be given to another when it is gone
        layout.memo[key] = over, _seen(layout, over, sight, back)
    ranges: Tensor = layout.memo[key][1]
    return ranges


def _seen(layout: Packed, over: Packed, sight: Sight, back: bool) -> Tensor:
    begin_N, at_N = over.offsets_B1[layout.row_N], layout.step_N.int()
    low_N, high_N = begin_N, over.offsets_B1[layout.row_N + 1]
    if sight.causal and back:
        low_N = begin_N + at_N
    elif sight.causal:
        high_N = torch.minimum(high_N, begin_N + at_N + 1)
    if sight.window is not None:
        low_N = torch.maximum(low_N, begin_N + at_N - sight.window + 1)
        high_N = torch.minimum(high_N, begin_N + at_N + sight.window)
    if sight.block is not None:
        block_N = begin_N + at_N // sight.block * sight.block
        low_N, high_N = torch.maximum(low_N, block_N), torch.minimum(high_N, block_N + sight.block)
    if layout.real_N is not None:
        low_N, high_N = torch.where(layout.real_N, low_N, NOWHERE), torch.where(layout.real_N, high_N, 0)
    return torch.stack((low_N, high_N)).int()


def _by_rows(
    q_NHK: Tensor, k_MGK: Tensor, v_MGK: Tensor, queries: Packed, keys: Packed, scale: float, sight: Sight
) -> Tensor:
    """torch's kernel, in which each row has tiles of its own: for long ones."""
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
