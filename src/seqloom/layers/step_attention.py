"""Attention of one query to each row over buffers that stay where they are: on a GPU, a kernel of ours."""
# R rows  A memories  H query heads  G key heads  S places  K key width  V value width

from torch import Tensor

from seqloom.layers.kernels import usable
from seqloom.layers.layout import Layout
from seqloom.layers.scores import Score
from seqloom.layers.static_cache import StaticCache
from seqloom.layers.static_compressed import StaticCompressed

WIDEST = 256  # of a head


def fits_step(q_R1HK: Tensor, score: Score, layout: Layout) -> bool:
    """Whether the kernel can do it: one step to each row, a dot product. It computes in float32."""
    one = layout.uniform and layout.longest == 1
    return (
        one and score.scale is not None and q_R1HK.shape[-1] <= WIDEST and q_R1HK.element_size() < 8 and usable(q_R1HK)
    )


def attend_step(
    q_RHK: Tensor,
    k_RGK: Tensor,
    v_RGV: Tensor,
    cache: StaticCache,
    scale: float,
    window: int | None = None,
    block: int | None = None,
) -> Tensor:
    """Write a step behind each row's last one, and read all up to it, or what is near: y_RHV."""
    from seqloom.layers.kernels.step import Past, attended

    past = Past(cache.keys_RGSD, cache.values_RGSD, cache.places.lengths_R, cache.fan, cache.places.writer_RS)
    return attended(q_RHK, past, scale, (k_RGK, v_RGV), window or 0, block or 0)


def attend_groups(q_RHK: Tensor, state: StaticCompressed, scale: float) -> Tensor:
    """y_RHV, over the groups of steps that are whole; zeros where none is."""
    from seqloom.layers.kernels.step import Past, attended

    past = Past(state.keys_RGCD, state.values_RGCD, state.groups_R, state.fan, state.writer_RC)
    return attended(q_RHK, past, scale, None)


def attend_memory(
    q_RHK: Tensor, keys_AGSK: Tensor, values_AGSV: Tensor, lengths_A: Tensor, fan: int, scale: float
) -> Tensor:
    """y_RHV. fan: so many rows, one after the other, read the same memory."""
    from seqloom.layers.kernels.step import Past, attended

    return attended(q_RHK, Past(keys_AGSK, values_AGSV, lengths_A, fan, None), scale, None)
