"""The weights of a recurrent cell in one piece of memory, as cuDNN reads them.

Parameters that lie so share one storage, which files of weights refuse and copies of a module lose; a copy at each call
is cheap. Where they are to lie cuDNN is asked once: there may be gaps between them, and a projection comes before the
biases. Weights that lie otherwise it would copy again, with a warning.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["RNN_TANH", "GRU", "LSTM"]
Shapes = tuple[torch.Size, ...]


def in_one_piece(weights: Sequence[Tensor], kind: Kind) -> list[Tensor]:
    """weights: in the order of torch's kernels, from input and state, both biases, perhaps a projection."""
    first = weights[0]
    places, size = _places(tuple(weight.shape for weight in weights), kind, first.dtype, first.device)
    return laid_out(weights, places, size)


def laid_out(weights: Sequence[Tensor], places: Sequence[int], size: int) -> list[Tensor]:
    """The same weights, each at its place in one tensor of this size; zeros are between."""
    parts, end = list[Tensor](), 0
    for place, weight in sorted(zip(places, weights, strict=True), key=lambda pair: pair[0]):
        parts += [weight.new_zeros(place - end), weight.flatten()]
        end = place + weight.numel()
    whole = torch.cat([part for part in (*parts, weights[0].new_zeros(size - end)) if part.numel()])
    return [
        whole[place : place + weight.numel()].view_as(weight) for place, weight in zip(places, weights, strict=True)
    ]


@cache
def _places(shapes: Shapes, kind: Kind, dtype: torch.dtype, device: torch.device) -> tuple[tuple[int, ...], int]:
    """Where each of them begins, and how long the whole is."""
    with torch.inference_mode(False), torch.no_grad():
        weights = [torch.empty(shape, dtype=dtype, device=device) for shape in shapes]
        if not torch._use_cudnn_rnn_flatten_weight():
            ends = [sum(shape.numel() for shape in shapes[:count]) for count in range(len(shapes) + 1)]
            return tuple(ends[:-1]), ends[-1]
        from torch.backends.cudnn.rnn import get_cudnn_mode

        inputs, projection = shapes[0][1], shapes[4][0] if len(shapes) > 4 else 0
        hidden = shapes[4][1] if projection else shapes[1][1]
        layers, batch_first, both_ways = 1, True, False
        whole = torch._cudnn_rnn_flatten_weight(
            weights, len(weights), inputs, get_cudnn_mode(kind), hidden, projection, layers, batch_first, both_ways
        )
        return tuple(int(weight.storage_offset()) for weight in weights), whole.numel()
