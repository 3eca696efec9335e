"""Weights in half precision, all of a model's together: a kernel or two a step, instead of one for each weight."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from seqloom.layers.linear import Linear


class Halves:
    """Of all linear maps of a model. They stay where they are, so that a recording finds them."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        maps = [part for part in model.modules() if type(part) is Linear and part.weight.dtype == torch.float32]
        whole = {id(own): own for part in maps for own in part.parameters(recurse=False)}  # what is shared once
        half = {number: torch.empty_like(own, dtype=dtype) for number, own in whole.items()}
        self.whole, self.half = list[Tensor](whole.values()), list(half.values())
        self.maps = [(part, (half[id(part.weight)], half.get(id(part.bias)))) for part in maps]

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """As the weights are now: nobody may change them before it is over."""
        if self.whole:
            with torch.no_grad():
                torch._foreach_copy_(self.half, self.whole)
        try:
            for part, half in self.maps:
                part.halved = half
            yield
        finally:
            for part, _ in self.maps:
                part.halved = None
