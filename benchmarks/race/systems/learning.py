"""A training step as libraries that only bring a model do it: forward, backward, Adam."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from race.work import Told, Turn

RATE = 1e-4


def steps(model: nn.Module, loss: Callable[[int], Tensor], tokens: Sequence[int], device: str) -> Turn:
    """loss: of batch i. On a GPU in bf16, as everybody trains there."""
    optimiser = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def turn(i: int) -> Told:
        i %= len(tokens)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found = loss(i)
        found.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return Told(tokens[i], loss=found.item())

    return turn
