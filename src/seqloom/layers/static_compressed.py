"""Compressed keys and values in buffers that never grow, and the steps that wait for their group."""
# A items  K hypotheses to each  R = A·K rows  G key heads  C groups that fit  D width  F steps of a group  E of a step

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.static_state import NotStaticError, Places, Rows, Size, put_steps

if TYPE_CHECKING:
    from seqloom.layers.memory_compressed import CompressedState


@dataclass(frozen=True)
class StaticCompressed:
    """A row reads each group where an ancestor wrote it: the one that wrote the last step of the group."""

    keys_RGCD: Tensor
    values_RGCD: Tensor
    pending_RFE: Tensor
    """The last place is for nobody: a step that fills its group does not wait."""
    places: Places
    fan: int

    @classmethod
    def like(cls, state: "CompressedState", size: Size) -> "StaticCompressed":
        factor = state.pending_BFC.shape[1] + 1
        groups = size.steps // factor + 1  # one more, for a group that never fills
        keys, values = (
            part.new_zeros(size.rows, part.shape[1], groups, part.shape[3])
            for part in (state.cache.keys_BGSK, state.cache.values_BGSK)
        )
        pending = state.pending_BFC.new_zeros(size.rows, factor, state.pending_BFC.shape[2])
        return cls(keys, values, pending, size.places, size.fan)

    @property
    def factor(self) -> int:
        return self.pending_RFE.shape[1]

    @property
    def lengths_B(self) -> Tensor:
        return self.places.lengths_R

    @property
    def groups_R(self) -> Tensor:
        """That are whole behind the step that is being done."""
        return (self.places.lengths_R + 1) // self.factor

    def first(self, items: int) -> "StaticCompressed":
        rows = items * self.fan
        parts = self.keys_RGCD[:rows], self.values_RGCD[:rows], self.pending_RFE[:rows]
        return StaticCompressed(*parts, self.places.first(rows), self.fan)

    def put(self, rows: Rows, state: "CompressedState") -> None:
        """What other rows remember goes to these items: groups to their first hypothesis, what waits to all of them."""
        keys, values = state.cache.seen
        size = keys.shape[2]
        if size > self.keys_RGCD.shape[2]:
            raise NotStaticError(f"{size} groups of steps in a cache of {self.keys_RGCD.shape[2]}")
        if size:
            holders = rows.items_A * self.fan
            put_steps(self.keys_RGCD, holders, keys)
            put_steps(self.values_RGCD, holders, values)
        waiting_RFE = state.pending_BFC.repeat_interleave(rows.fan, 0).to(self.pending_RFE.dtype)
        self.pending_RFE[:, :-1].index_copy_(0, rows.rows_R, waiting_RFE)

    def move(self, to: Rows, origin: Rows) -> None:
        for part in (self.keys_RGCD, self.values_RGCD, self.pending_RFE):
            part.index_copy_(0, to.rows_R, part.index_select(0, origin.rows_R))

    def settle(self, after: "StaticCompressed", from_R: Tensor | None) -> None:
        """Groups lie where they were written, and who continues whom is the places' to know; what waits is copied."""
        if from_R is not None:
            self.pending_RFE.copy_(self.pending_RFE.index_select(0, from_R))

    def group(self, step_RE: Tensor) -> Tensor:
        """Each row's waiting steps and its new one: a whole group where it is the last of one."""
        return torch.cat((self.pending_RFE[:, :-1].to(step_RE.dtype), step_RE[:, None]), 1)

    def extend(self, step_RE: Tensor, k_RGD: Tensor, v_RGD: Tensor) -> None:
        """A step to each row, and the group that it would end with it; one that is not whole yet is written again."""
        lengths_R, wait_RFE = self.places.lengths_R, self.pending_RFE
        waits_R1E = (lengths_R % self.factor)[:, None, None].expand(-1, 1, wait_RFE.shape[2])
        wait_RFE.scatter_(1, waits_R1E, step_RE[:, None].to(wait_RFE.dtype))
        at_R = lengths_R // self.factor
        for buffer, new_RGD in (self.keys_RGCD, k_RGD), (self.values_RGCD, v_RGD):
            at_RG1D = at_R[:, None, None, None].expand(*new_RGD.shape[:2], 1, new_RGD.shape[2])
            buffer.scatter_(2, at_RG1D, new_RGD[:, :, None].to(buffer.dtype))

    @property
    def writer_RC(self) -> Tensor | None:
        """Of an item's hypotheses, the one that wrote each group; None: there is one to each item."""
        if self.places.writer_RS is None:
            return None
        last_RC = self.places.writer_RS[:, self.factor - 1 :: self.factor]
        return F.pad(last_RC, (0, self.keys_RGCD.shape[2] - last_RC.shape[1]))

    @property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Each row's groups in a row of its own; what lies behind its end is anything."""
        writer_RC = self.writer_RC
        if writer_RC is None:
            return self.keys_RGCD, self.values_RGCD
        rows_R1 = torch.arange(self.places.rows, device=writer_RC.device)[:, None]
        from_RC = rows_R1 - rows_R1 % self.fan + writer_RC
        at_C = torch.arange(writer_RC.shape[1], device=writer_RC.device)
        keys, values = (part[from_RC, :, at_C].transpose(1, 2) for part in (self.keys_RGCD, self.values_RGCD))
        return keys, values
