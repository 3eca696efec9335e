"""Weights in half precision, all of a model's together: a kernel or two a step, instead of one for each weight."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_at_hand: dict[int, Tensor] = {}  # by the number of the parameter that each is of


def half_of(weight: Tensor, dtype: torch.dtype) -> Tensor:
    half = _at_hand.get(id(weight))
    return weight.to(dtype) if half is None or half.dtype != dtype else half


class Halves:
    """Of these weights, on one device. They stay where they are, so that a recording finds them."""

    def __init__(self, weights: list[nn.Parameter], dtype: torch.dtype) -> None:
        self.whole = [weight for weight in weights if weight.dtype == torch.float32]
        self.half: list[Tensor] = [torch.empty_like(weight, dtype=dtype) for weight in self.whole]

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """As the weights are now: nobody may change them before it is over."""
        with torch.no_grad():
            if self.whole:
                torch._foreach_copy_(self.half, list[Tensor](self.whole))
        own = {id(whole): half for whole, half in zip(self.whole, self.half, strict=True)}
        _at_hand.update(own)
        try:
            yield
        finally:
            for number in own:
                _at_hand.pop(number, None)
