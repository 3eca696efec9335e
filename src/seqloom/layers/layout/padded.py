"""One row a sequence, filled up to the longest: x_BTD."""
# B rows  T steps of the longest row  N tokens of all rows

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from seqloom.layers.layout.contract import Layout, like
from seqloom.layers.layout.edges import Edges


@dataclass(frozen=True)
class Padded(Layout):
    """x_BTD. Real tokens of a row are contiguous; padding may stand before them, behind them, or both."""

    lengths_B: Tensor
    width: int
    starts_B: Tensor | None = None  # None: every row begins at step 0
    full: bool = False  # known on the host: no padding at all
    structure_BTT: Tensor | None = None
    edges: Edges | None = None

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | Tensor,
        width: int | None = None,
        starts: Sequence[int] | Tensor | None = None,
        device: torch.device | str | None = None,
    ) -> Self:
        lengths_B = torch.as_tensor(lengths)
        if lengths_B.is_floating_point() and lengths_B.numel():
            raise TypeError("lengths are whole numbers")
        lengths_B = lengths_B.to(torch.int64).contiguous()
        begins_B = None if starts is None else torch.as_tensor(starts, dtype=torch.int64)
        ends_B = lengths_B if begins_B is None else lengths_B + begins_B
        needed = int(ends_B.max()) if ends_B.numel() else 0
        width = needed if width is None else width
        if needed > width:
            raise ValueError(f"a row ends at step {needed}, but the batch is only {width} wide")
        full = bool((lengths_B == width).all())
        device = device if device is not None else lengths_B.device
        return cls(
            lengths_B.to(device),
            width,
            None if begins_B is None or full else begins_B.to(device),
            full,
        )

    @classmethod
    def whole(cls, rows: int, width: int, device: torch.device | str | None = None) -> Self:
        """No padding at all."""
        return cls(torch.full((rows,), width, device=device), width, full=True)

    def split(self, rows: Sequence[int]) -> list["Padded"]:
        """So many rows after the other as layouts of their own."""
        if self.structure_BTT is not None:
            raise ValueError("a structure says who sees whom in a whole batch; it cannot be split")
        starts: Sequence[Tensor | None] = [None] * len(rows) if self.starts_B is None else self.starts_B.split(rows)
        each = zip(self.lengths_B.split(rows), starts, strict=True)
        return [Padded(lengths_B, self.width, starts_B, self.full) for lengths_B, starts_B in each]

    @property
    def longest(self) -> int:
        return self.width

    @property
    def uniform(self) -> bool:
        return self.full

    @property
    def steps(self) -> Tensor:
        steps_BT = torch.arange(self.width, device=self.lengths_B.device).expand(self.rows, -1)
        return steps_BT if self.starts_B is None else (steps_BT - self.starts_B[:, None]).clamp(min=0)

    def _places(self, after_B: Tensor | None) -> Tensor:
        if after_B is not None and self.full and self.width == 1:
            return after_B[:, None]
        return self.steps if after_B is None else self.steps + after_B[:, None]

    def of_rows(self, x_BD: Tensor) -> Tensor:
        return x_BD[:, None]

    @property
    def real(self) -> Tensor | None:
        if self.full:
            return None
        steps_T = torch.arange(self.width, device=self.lengths_B.device)
        starts_B1 = 0 if self.starts_B is None else self.starts_B[:, None]
        return (steps_T >= starts_B1) & (steps_T < starts_B1 + self.lengths_B[:, None])

    def check(self, x: Tensor) -> None:
        if x.shape[:2] != (self.rows, self.width):
            raise ValueError(f"a batch of {tuple(x.shape[:2])}, but the layout says {(self.rows, self.width)}")

    def pad(self, x: Tensor) -> Tensor:
        self.check(x)
        if self.full:
            return x
        flush_BT = x if self.starts_B is None else _roll(x, self.starts_B)
        # where, not times: padding may hold anything, NaN too
        return torch.where(like(self.real_BT, x), flush_BT, 0)

    def unpad(self, x_BT: Tensor) -> Tensor:
        return x_BT if self.starts_B is None else _roll(x_BT, -self.starts_B)


def _roll(x_BT: Tensor, by_B: Tensor) -> Tensor:
    """Turn each row to the left by its own number of steps."""
    T = x_BT.shape[1]
    from_BT = (torch.arange(T, device=by_B.device) + by_B[:, None]) % max(T, 1)
    return torch.gather(x_BT, 1, like(from_BT, x_BT).expand_as(x_BT))
