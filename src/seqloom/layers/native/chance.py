"""What a kernel needs for its dropout."""

from dataclasses import dataclass

import torch

LEVELS = 1 << 32  # a rate is a multiple of 1 / LEVELS


@dataclass(frozen=True)
class Chance:
    """lost: of LEVELS numbers so many go, and the others grow. The seed decides which."""

    seed: int = 0
    lost: int = 0

    @property
    def growth(self) -> float:
        return LEVELS / (LEVELS - self.lost)


NEVER = Chance()


def chance(rate: float) -> Chance:
    """Its seed is a number of torch's own generator, so all is a function of torch's seed."""
    if not rate:
        return NEVER
    drawn = int(torch.empty((), dtype=torch.int64).random_())
    return Chance(drawn, min(round(rate * LEVELS), LEVELS - 1))
