"""The angles of sinusoidal and rotary positions: position times a rate that falls from 1 towards 1 / base."""

import torch
from torch import Tensor


def angles(at: Tensor, width: int, base: float, dtype: torch.dtype) -> Tensor:
    """pos / base^(2i / width) for i = 0 … width/2 - 1, on a new last axis.

    In float32 at least: bfloat16 cannot tell position 257 from 256.
    """
    precise = torch.float64 if dtype == torch.float64 else torch.float32
    exponent = torch.arange(0, width, 2, device=at.device, dtype=precise) / width
    return at[..., None].to(precise) * torch.pow(base, -exponent)
