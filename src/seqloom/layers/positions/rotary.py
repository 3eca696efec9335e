"""Rotary positions (Su et al. 2021, arXiv:2104.09864)."""
# K head width  R = K · fraction / 2 planes that turn

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from seqloom.layers.kernels import usable
from seqloom.layers.positions.angles import angles
from seqloom.layers.positions.relative import Relative
from seqloom.settings import Frozen

PLACES = 8192
"""For which turns are written down, for kernels that look them up."""


class Rotary(Frozen):
    """Queries and keys turn by an angle that grows with their position, so that products depend on the distance."""

    kind: Literal["rotary"] = "rotary"
    base: float = Field(default=10_000.0, gt=1)
    fraction: float = Field(default=1.0, gt=0, le=1, description="share of each head that turns")
    order: Literal["halves", "interleaved"] = Field(
        default="halves",
        description="which two numbers form a plane: i and i + K/2 (Llama), or 2i and 2i + 1 (the paper)",
    )

    def parameters(self, heads: int, head_width: int) -> int:
        return 0


class RotaryRelative(Relative):
    """Eq. 15."""

    def __init__(self, settings: Rotary, head_width: int) -> None:
        super().__init__()
        self.turning = 2 * int(head_width * settings.fraction / 2)
        self.order, self.base = settings.order, settings.base
        self.rate_R: Tensor | None = None

    @property
    def planes(self) -> int:
        return self.turning // 2

    def table(self) -> tuple[Tensor, Tensor]:
        """cos_PR and sin_PR of the first PLACES places, on a CPU."""
        key = self.turning, self.base
        found = _tables.get(key)
        # threads that ask first, at the same time, all get what is ready first
        return _tables.setdefault(key, _table(*key)) if found is None else found

    def turn(self, x: Tensor, at: Tensor) -> Tensor:
        if usable(x) and x.dtype != torch.float64:
            from seqloom.layers.kernels.turn import turned

            if self.rate_R is None or self.rate_R.device != x.device:
                with torch.inference_mode(False):  # they outlive whoever asks first
                    one = torch.ones(1, dtype=torch.int64, device=x.device)
                    self.rate_R = angles(one, self.turning, self.base, torch.float64)[0]
            return turned(x, at.expand(x.shape[:-2]), self.rate_R, self.order == "interleaved")
        # float32 at least: bfloat16 cannot tell position 257 from 256
        precision = torch.promote_types(x.dtype, torch.float32)
        angle_R = angles(at, self.turning, self.base, precision)[..., None, :]
        cos_R, sin_R = angle_R.cos().to(x.dtype), angle_R.sin().to(x.dtype)
        moving, rest = x[..., : self.turning], x[..., self.turning :]
        if self.order == "halves":
            a, b = moving.chunk(2, -1)
            moved = torch.cat((a * cos_R - b * sin_R, b * cos_R + a * sin_R), -1)
        else:
            a, b = moving[..., ::2], moving[..., 1::2]
            moved = torch.stack((a * cos_R - b * sin_R, b * cos_R + a * sin_R), -1).flatten(-2)
        return torch.cat((moved, rest), -1) if rest.shape[-1] else moved


_tables = dict[tuple[int, float], tuple[Tensor, Tensor]]()


def _table(turning: int, base: float) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False), torch.no_grad():  # it outlives whoever asks first
        angle_PR = angles(torch.arange(PLACES), turning, base, torch.float32)
        return angle_PR.cos().contiguous(), angle_PR.sin().contiguous()
