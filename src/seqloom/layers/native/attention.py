"""Attention of one query to a row, over steps or a memory; a new step is written on the way."""
# R rows of queries  A rows of keys, R / A queries to each  H query heads  G key heads  F forks  S steps  K head width

import ctypes
from ctypes import c_float, c_int, c_int64, c_void_p
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.native import usable
from seqloom.layers.native.library import Library

SHORT = 128
"""Tokens of a sequence up to which its queries are worth their own way; torch's kernel takes many at once."""


def _same(lib: ctypes.CDLL) -> bool:
    numbers = torch.linspace(0, 50, 2 * 4 * 8 + 2 * 2 * 2 * 5 * 8).sin()
    q_RHK, (keys, values) = numbers[:64].view(2, 4, 8), numbers[64:].view(2, 2, 2, 5, 8)
    lengths_A = torch.tensor([3, 5])
    made = asked(lib, 0.3, 2, q_RHK)
    assert made is not None
    over_memory(made, keys, values, lengths_A)
    mask = torch.arange(5) < lengths_A[:, None, None, None]
    wanted = F.scaled_dot_product_attention(q_RHK[:, :, None], keys, values, mask, scale=0.3, enable_gqa=True)
    return torch.allclose(made.y_RHK, wanted[:, :, 0], atol=1e-5)


ATTENTION = Library(
    "attention",
    {
        "attend_one": (
            *(c_void_p, c_int64) * 3, *(c_void_p,) * 2, *(c_int64,) * 4, c_void_p, c_int64, c_void_p, c_int64,
            c_void_p, c_int64, *(c_int,) * 4, c_float, c_int,
        ),
        "attend_rows": (
            *(c_void_p, c_int64) * 2, *(c_void_p,) * 4, c_int64, *(c_int,) * 3, c_float, *(c_int,) * 2,
        ),
        "sign": (c_void_p, c_int64, c_void_p, c_int64, c_int),
    },
    _same,
)  # fmt: skip


def one_each(layout: Layout) -> bool:
    """Whether every row has one step, and nothing stands beside it."""
    return isinstance(layout, Padded) and layout.full and layout.width == 1 and layout.structure_BTT is None


class Asked(NamedTuple):
    """Queries, and what is new; of the rows `begin` to `begin + rows`, whose answers go to the same rows of y."""

    lib: ctypes.CDLL
    y_RHK: Tensor
    q_RHK: Tensor
    k_RGK: Tensor | None
    v_RGK: Tensor | None
    scale: float
    begin: int
    rows: int

    def of(self, begin: int, rows: int) -> "Asked":
        return self._replace(begin=begin, rows=rows)


def asked(
    lib: ctypes.CDLL, scale: float, rows: int, q_RHK: Tensor, k_RGK: Tensor | None = None, v_RGK: Tensor | None = None
) -> Asked | None:
    """None if a row's heads do not lie side by side. Between R and H there may be axes of 1. rows: of the state."""
    if len(q_RHK) != rows:
        raise ValueError(f"{len(q_RHK)} rows of queries, but the state has {rows}")
    K = q_RHK.shape[-1]
    if any(
        x is not None and (x.stride()[-2:] != (K, 1) or x.dtype is not torch.float32 or not x.is_cpu)
        for x in (q_RHK, k_RGK, v_RGK)
    ):
        return None
    return Asked(lib, q_RHK.new_empty(q_RHK.shape), q_RHK, k_RGK, v_RGK, scale, 0, len(q_RHK))


def over_memory(asked: Asked, keys_AGSK: Tensor, values_AGSK: Tensor, lengths_A: Tensor | None) -> None:
    """lengths_A: None: no padding. Some queries after each other read the same memory, as many as there are to each."""
    _run(asked, keys_AGSK, values_AGSK, lengths_A, max(1, asked.rows // max(1, len(keys_AGSK))), keys_AGSK.shape[2])


def over_steps(asked: Asked, keys_BGSK: Tensor, values_BGSK: Tensor, lengths: Tensor | int) -> None:
    """The new step is written behind `lengths` others, and sees itself too."""
    if isinstance(lengths, int):
        _run(asked, keys_BGSK, values_BGSK, None, 1, lengths)
    else:
        _run(asked, keys_BGSK, values_BGSK, lengths, 1, keys_BGSK.shape[2])


def over_forks(asked: Asked, keys_AGFSK: Tensor, values_AGFSK: Tensor, writer_AFS: Tensor, lengths_R: Tensor) -> None:
    """The same where forks of a row share what their ancestors wrote. writer_AFS is told who writes the new step."""
    fan = keys_AGFSK.shape[2]
    asked.lib.sign(writer_AFS.data_ptr(), writer_AFS.stride(1), lengths_R.data_ptr(), asked.rows, fan)
    _run(asked, keys_AGFSK, values_AGFSK, lengths_R, fan, keys_AGFSK.shape[3], writer_AFS)


def over_rows(
    q_NHK: Tensor, k_MGK: Tensor, v_MGK: Tensor, queries: Packed, keys: Packed, scale: float, causal: bool
) -> Tensor | None:
    """Each token of packed sequences over its own sequence; causal: up to itself. None where others do it better."""
    if queries.rows != keys.rows or len(k_MGK) != len(keys.row_N):
        raise ValueError(
            f"{queries.rows} rows of queries over {keys.rows}, with {len(k_MGK)} of {len(keys.row_N)} keys"
        )
    known = all(layout.real_N is None and layout.longest <= SHORT for layout in (queries, keys))
    if not known or len(q_NHK) == 0 or not usable():
        return None
    lib = ATTENTION.get()
    if k_MGK.stride() != v_MGK.stride():  # one of them was changed, as by a norm
        k_MGK, v_MGK = k_MGK.contiguous(), v_MGK.contiguous()
    asks = None if lib is None else asked(lib, scale, len(queries.row_N), q_NHK, k_MGK, v_MGK)
    if asks is None:
        return None
    H, K = q_NHK.shape[-2:]
    y = asks.y_RHK
    asks.lib.attend_rows(
        *_rows(q_NHK, 0), *_rows(k_MGK, 0), v_MGK.data_ptr(), queries.offsets_B1.data_ptr(), keys.offsets_B1.data_ptr(),
        y.data_ptr(), queries.rows, H, k_MGK.shape[-2], K, scale, causal, torch.get_num_threads(),
    )  # fmt: skip
    return y


def _run(
    asked: Asked,
    keys: Tensor,
    values: Tensor,
    lengths: Tensor | None,
    fan: int,
    even: int,
    writer_AFS: Tensor | None = None,
) -> None:
    lib, y, q, k, v, scale, begin, rows = asked
    if not rows:
        return
    lengths = None if lengths is None else lengths.contiguous()
    H, K = q.shape[-2:]
    strides = keys.stride()
    lib.attend_one(
        *_rows(q, begin), *_rows(k, begin), *_rows(v, begin), keys.data_ptr(), values.data_ptr(),
        strides[0], strides[1], strides[2] if writer_AFS is not None else 0, strides[-2],
        None if lengths is None else lengths.data_ptr(), even,
        None if writer_AFS is None else writer_AFS.data_ptr(), 0 if writer_AFS is None else writer_AFS.stride(1),
        y.data_ptr() + 4 * begin * H * K, rows, fan, H, keys.shape[1], K, scale, torch.get_num_threads(),
    )  # fmt: skip


def _rows(x: Tensor | None, begin: int) -> tuple[int | None, int]:
    """Where they begin, and from one to the next."""
    if x is None:
        return None, 0
    row = x.stride(0)
    return x.data_ptr() + 4 * begin * row, row


def fits(keys: Tensor, values: Tensor) -> bool:
    """Whether they lie as the kernel reads them."""
    return (
        keys.dtype is torch.float32
        and keys.is_cpu
        and keys.shape == values.shape
        and keys.stride() == values.stride()
        and (keys.stride(-1) == 1)
    )
