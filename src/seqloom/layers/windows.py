"""What a convolution reads at each token of a packed batch: the tokens that its taps stand on, side by side."""
# N tokens  k taps  D features

from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqloom.layers.layout import Packed


class _Places(NamedTuple):
    """Where the taps stand, and who stands on whom; as every layer with such taps asks it, it is worked out once."""

    read_M: Tensor  # N·k places, by tokens; where a tap stands outside of its token's sequence: N
    reader_M: Tensor  # N·k places among those: tap j of the token that stands on token n with it
    read_Nk1: Tensor  # False: there is none


class Taps(NamedTuple):
    """How many, how far apart, and how far before a token the first one stands."""

    number: int
    apart: int
    before: int


def windows(x_ND: Tensor, layout: Packed, taps: Taps) -> Tensor:
    """What the taps of each token stand on, zeros outside of its sequence; no padding needed: x_N(k·D)."""
    key = "windows", taps
    if key not in layout.memo:
        layout.memo[key] = _places(layout, taps)
    made: Tensor = _Windows.apply(x_ND, *layout.memo[key])  # type: ignore[no-untyped-call]
    return made


def _places(layout: Packed, taps: Taps) -> _Places:
    N, device = len(layout.row_N), layout.row_N.device
    token_N1, tap_k = torch.arange(N, device=device)[:, None], torch.arange(taps.number, device=device)
    shift_k = tap_k * taps.apart - taps.before
    step_Nk, place_Nk = layout.step_N[:, None] + shift_k, token_N1 + shift_k
    inside_Nk = (step_Nk >= 0) & (step_Nk < layout.lengths_B[layout.row_N][:, None]) & (place_Nk < N)
    reader_Nk = token_N1 - shift_k
    there_Nk = (reader_Nk >= 0) & (reader_Nk < N)
    reader_Nk = torch.where(there_Nk, reader_Nk, 0)
    read_Nk = there_Nk & inside_Nk[reader_Nk, tap_k]
    return _Places(
        torch.where(inside_Nk, place_Nk, N).flatten(), (reader_Nk * taps.number + tap_k).flatten(), read_Nk[..., None]
    )


def _read(x_ND: Tensor, places: _Places) -> Tensor:
    (N, D), k = x_ND.shape, places.read_Nk1.shape[1]
    padded = torch.cat((x_ND, x_ND.new_zeros(1, D)))
    return padded.index_select(0, places.read_M).view(N, k * D)


def _added(windows_NF: Tensor, places: _Places) -> Tensor:
    """The transpose of `_read`."""
    N, k = places.read_Nk1.shape[:2]
    D = windows_NF.shape[1] // k
    read_NkD = windows_NF.reshape(N * k, D).index_select(0, places.reader_M).view(N, k, D)
    return torch.where(places.read_Nk1, read_NkD, 0).sum(1)


class _Windows(torch.autograd.Function):
    """A gather there, and one back: no two taps of a kind stand on the same token, so that nothing has to be added up
    in an order of chance."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, *places: Tensor) -> Tensor:
        ctx.save_for_backward(*places)
        return _read(x_ND, _Places(*places))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _Back.apply(grads[0], *ctx.saved_tensors), None, None, None  # type: ignore[no-untyped-call]


class _Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, windows_NF: Tensor, *places: Tensor) -> Tensor:
        ctx.save_for_backward(*places)
        return _added(windows_NF, _Places(*places))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _Windows.apply(grads[0], *ctx.saved_tensors), None, None, None  # type: ignore[no-untyped-call]
