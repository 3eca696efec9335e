"""The angles of sinusoidal and rotary positions: position times a rate that falls from 1 towards 1 / base."""

import torch
from torch import Tensor


def angles(at: Tensor, width: int, base: float, precision: torch.dtype) -> Tensor:
    """pos / base^(2i / width) for i = 0 … width/2 - 1, on a new last axis."""
    exponent = torch.arange(0, width, 2, device=at.device, dtype=precision) / width
    return at[..., None].to(precision) * (1 / base**exponent)
