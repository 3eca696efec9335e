"""Keys and values in buffers that never grow: what a step writes and reads lies where it lay in the step before.

So a GPU can do a step by heart: it is recorded once and played again, and where each row stands is known on the device
alone. All layers share that knowledge, so that it is changed once a step and not in each of them.
"""
# A items  K hypotheses to each  R = A·K rows  G key heads  S steps that fit  D width

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from seqloom.layers.static_state import NotStaticError, Places, Rows, Size, put_steps

if TYPE_CHECKING:
    from seqloom.layers.cache import Cache


@dataclass(frozen=True)
class StaticCache:
    """Each row has places of its own to write to, and reads its past where its ancestors wrote it."""

    keys_RGSD: Tensor
    values_RGSD: Tensor
    places: Places
    fan: int

    @classmethod
    def like(cls, cache: "Cache", size: Size) -> "StaticCache":
        keys, values = (
            part.new_zeros(size.rows, part.shape[1], size.steps, part.shape[3])
            for part in (cache.keys_BGSK, cache.values_BGSK)
        )
        return cls(keys, values, size.places, size.fan)

    @property
    def lengths_B(self) -> Tensor:
        return self.places.lengths_R

    def first(self, items: int) -> "StaticCache":
        rows = items * self.fan
        return StaticCache(self.keys_RGSD[:rows], self.values_RGSD[:rows], self.places.first(rows), self.fan)

    def put(self, rows: Rows, cache: "Cache") -> None:
        """What other rows remember goes to these items; their first hypothesis holds it."""
        keys, values = cache.seen
        size = keys.shape[2]
        if size > self.keys_RGSD.shape[2]:
            raise NotStaticError(f"{size} steps in a cache of {self.keys_RGSD.shape[2]}")
        if size:
            holders = rows.items_A * self.fan
            put_steps(self.keys_RGSD, holders, keys)
            put_steps(self.values_RGSD, holders, values)

    def move(self, to: Rows, origin: Rows) -> None:
        for part in (self.keys_RGSD, self.values_RGSD):
            part.index_copy_(0, to.rows_R, part.index_select(0, origin.rows_R))

    def settle(self, after: "StaticCache", from_R: Tensor | None) -> None:
        """It was written in place, and who continues whom is the places' to know."""

    def extend(self, k_RGD: Tensor, v_RGD: Tensor) -> None:
        """One step to each row, at its place."""
        for buffer, new_RGD in (self.keys_RGSD, k_RGD), (self.values_RGSD, v_RGD):
            at_RG1D = self.places.lengths_R[:, None, None, None].expand(*new_RGD.shape[:2], 1, new_RGD.shape[2])
            buffer.scatter_(2, at_RG1D, new_RGD[:, :, None].to(buffer.dtype))

    @property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Each row's keys and values in a row of its own, k_RGSD and v_RGSD; what lies behind its end is anything."""
        writer_RS = self.places.writer_RS
        if writer_RS is None:
            return self.keys_RGSD, self.values_RGSD
        rows_R1 = torch.arange(self.places.rows, device=writer_RS.device)[:, None]
        from_RS = rows_R1 - rows_R1 % self.fan + writer_RS
        at_S = torch.arange(writer_RS.shape[1], device=writer_RS.device)
        keys, values = (part[from_RS, :, at_S].transpose(1, 2) for part in (self.keys_RGSD, self.values_RGSD))
        return keys, values
