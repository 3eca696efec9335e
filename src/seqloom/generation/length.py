"""What an answer's length is worth: long answers are less likely, as each token costs."""

from typing import TypeVar, assert_never

import torch
from torch import Tensor

from seqloom.generation.settings import LengthSettings, MeanLength, NoLength, WuLength

L = TypeVar("L", float, Tensor)


def penalty(settings: LengthSettings, length: L) -> L:
    """What a log_prob is divided by; it never falls with the length. length: tokens, with the end mark."""
    match settings:
        case WuLength(alpha=alpha):
            return ((5 + length) / 6) ** alpha
        case MeanLength(alpha=alpha):
            return length**alpha
        case NoLength():
            return length**0
        case _:
            assert_never(settings)


class Penalties:
    """Of many lengths, made once."""

    def __init__(self, settings: LengthSettings) -> None:
        self._settings, self._made = settings, torch.empty(0, dtype=torch.float64)

    def up_to(self, longest: int) -> Tensor:
        """Of all lengths from 0 on."""
        if len(self._made) <= longest:
            self._made = penalty(self._settings, torch.arange(longest + 1, dtype=torch.float64))
        return self._made
