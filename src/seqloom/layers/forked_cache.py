"""Keys and values of hypotheses that fork: nothing is copied when they do, a table says who wrote what."""
# A items  K hypotheses to each  R = A·K rows  G key heads  S steps that fit  T new steps  D width  H query heads

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.cohorts import Cohorts, Room
from seqloom.layers.layout import Layout
from seqloom.layers.native.attention import Asked, fits, over_forks
from seqloom.layers.native.block import numbers_of
from seqloom.layers.native.rows import move

MOST = 16
"""Hypotheses to an item; with more, reading what all of them wrote costs more than copying."""


@dataclass(frozen=True)
class ForkedCache:
    """Each hypothesis has places of its own to write to, and reads its past where its ancestors wrote it.

    All hypotheses to an item see all its places, through a mask that the table makes. Written in place, as a static
    cache is: of two continuations only the later is valid.
    """

    keys_AGKSD: Tensor
    values_AGKSD: Tensor
    writer_AKS: Tensor
    """Which hypothesis wrote step s of hypothesis k."""
    lengths_B: Tensor
    room: int = 1
    free: int = 0  # places at the end that no row has reached
    apart: bool = False  # its reader can read Cohorts of it

    @classmethod
    def of(
        cls, keys_AGSD: Tensor, values_AGSD: Tensor, lengths_A: Tensor, times: int, apart: bool = False
    ) -> "ForkedCache":
        """All hypotheses begin with the same past; the first of them holds it."""
        A, _, S, _ = keys_AGSD.shape
        keys, values = (F.pad(part[:, :, None], (0, 0, 0, 0, 0, times - 1)) for part in (keys_AGSD, values_AGSD))
        writer_AKS = torch.zeros(A, times, S, dtype=torch.int64, device=keys.device)
        return cls(keys, values, writer_AKS, lengths_A.repeat_interleave(times), apart=apart)

    @property
    def fan(self) -> int:
        return self.writer_AKS.shape[1]

    @property
    def rows(self) -> int:
        return self.lengths_B.shape[0]

    @property
    def longest(self) -> int:
        """Steps that the longest row has, or had."""
        return self.writer_AKS.shape[2] - self.free

    def roomy(self, room: Room) -> "ForkedCache | Cohorts[ForkedCache]":
        made = replace(self, room=room.steps)
        return Cohorts((made,)) if self.apart else made

    def fork(self, rows_R: Tensor) -> "ForkedCache":
        writer_AKS = self.writer_AKS.flatten(0, 1).index_select(0, rows_R).unflatten(0, (-1, self.fan))
        return replace(self, writer_AKS=writer_AKS, lengths_B=self.lengths_B.index_select(0, rows_R))

    def reorder(self, rows_R: Tensor) -> "ForkedCache":
        rows_A = rows_R[:: self.fan] // self.fan
        keys, values = moved(rows_A, self.writer_AKS.shape[-1] - self.free, self.keys_AGKSD, self.values_AGKSD)
        return replace(self.fork(rows_R), keys_AGKSD=keys, values_AGKSD=values)

    @classmethod
    def join(cls, caches: Sequence["ForkedCache"]) -> "ForkedCache":
        """As wide as the longest row needs, and some room."""
        lengths_B, room = torch.cat([cache.lengths_B for cache in caches]), caches[0].room
        size = room + (int(lengths_B.max()) if len(lengths_B) else 0)
        keys, values, writer = (
            torch.cat([_resized(part, dim, size) for part in parts])
            for parts, dim in (
                ([cache.keys_AGKSD for cache in caches], -2),
                ([cache.values_AGKSD for cache in caches], -2),
                ([cache.writer_AKS for cache in caches], -1),
            )
        )
        return cls(keys, values, writer, lengths_B, room, free=room, apart=caches[0].apart)

    def extend(self, k_RGTD: Tensor, v_RGTD: Tensor, layout: Layout) -> "ForkedCache":
        """Write the new steps behind each row's last one."""
        T, wide = layout.longest, self._wide(layout.longest)
        steps_AKT = (self.lengths_B[:, None] + torch.arange(T, device=k_RGTD.device)).unflatten(0, (-1, self.fan))
        for buffer, new_RGTD in (wide.keys_AGKSD, k_RGTD), (wide.values_AGKSD, v_RGTD):
            new_AGKTD = new_RGTD.unflatten(0, (-1, self.fan)).transpose(1, 2)
            buffer.scatter_(3, steps_AKT[:, None, :, :, None].expand_as(new_AGKTD), new_AGKTD.to(buffer.dtype))
        own_1K1 = torch.arange(self.fan, device=k_RGTD.device)[None, :, None]
        writer_AKS = wide.writer_AKS.scatter(2, steps_AKT, own_1K1.expand_as(steps_AKT))
        lengths_B = self.lengths_B + layout.lengths_B
        return replace(wide, writer_AKS=writer_AKS, lengths_B=lengths_B, free=wide.free - T)

    def _wide(self, steps: int) -> "ForkedCache":
        """With free places for at least so many steps."""
        if self.free >= steps:
            return self
        free = max(self.room, steps, self.writer_AKS.shape[-1] // 2)  # by more each time: all is copied when it grows
        size = self.writer_AKS.shape[-1] + free - self.free
        keys, values = _resized(self.keys_AGKSD, -2, size), _resized(self.values_AGKSD, -2, size)
        return replace(
            self, keys_AGKSD=keys, values_AGKSD=values, writer_AKS=_resized(self.writer_AKS, -1, size), free=free
        )

    def stepped(self, asked: Asked) -> "ForkedCache | None":
        """`extend` by one step, and attention over the steps of each row's ancestors, in C; None: it cannot be so."""
        after = self._after_one()
        if after is not None:
            over_forks(asked, after.keys_AGKSD, after.values_AGKSD, after.writer_AKS, self.lengths_B)
        return after

    def for_c(self) -> "tuple[list[int], ForkedCache] | None":
        """What C must know to extend it by one step, and how it is then."""
        after = self._after_one()
        if after is None:
            return None
        keys, values, writer_AKS = after.keys_AGKSD, after.values_AGKSD, after.writer_AKS
        return numbers_of(keys, values, self.lengths_B, keys.shape[3], self.rows, self.fan, writer_AKS), after

    def for_a_run(self, steps: int) -> "tuple[list[int], ForkedCache, Tensor] | None":
        """What C must know to extend it by up to so many steps, and to fork it in place; the same with room for them;
        and lengths that C counts up: these must live as long as its call. See `after`."""
        wide = self._roomier(steps)
        if wide is None:
            return None
        keys, values, lengths_B = wide.keys_AGKSD, wide.values_AGKSD, self.lengths_B.clone()
        return numbers_of(keys, values, lengths_B, keys.shape[3], self.rows, self.fan, wide.writer_AKS), wide, lengths_B

    def after(self, steps: int) -> "ForkedCache":
        """Behind so many more, that somebody wrote there."""
        return replace(self, lengths_B=self.lengths_B + steps, free=self.free - steps)

    def _roomier(self, steps: int) -> "ForkedCache | None":
        """With room for so many more; None where C cannot write there."""
        wide = self._wide(steps)
        fit = fits(wide.keys_AGKSD, wide.values_AGKSD) and wide.writer_AKS.is_contiguous()
        return wide if fit else None

    def _after_one(self) -> "ForkedCache | None":
        """With one step more, which is still to be written."""
        wide = self._roomier(1)
        return None if wide is None else wide.after(1)

    @property
    def all_steps(self) -> tuple[Tensor, Tensor]:
        """Keys and values of all hypotheses to an item, side by side."""
        return self.keys_AGKSD.flatten(2, 3), self.values_AGKSD.flatten(2, 3)

    def fold(self, q_RHTD: Tensor) -> Tensor:
        """The queries of an item's hypotheses as those of one row."""
        return q_RHTD.unflatten(0, (-1, self.fan)).transpose(1, 2).flatten(2, 3)

    def unfold(self, y_AHND: Tensor) -> Tensor:
        return y_AHND.unflatten(2, (self.fan, -1)).transpose(1, 2).flatten(0, 1)

    def sees(self, see_RTS: Tensor) -> Tensor:
        """Whether a query sees a place, from whether it would see the step: only if an ancestor wrote it there."""
        see_AKT1S = see_RTS.unflatten(0, (-1, self.fan))[:, :, :, None]
        writer_AK11S = self.writer_AKS[:, :, None, None]
        wrote_AK1KS = writer_AK11S == torch.arange(self.fan, device=see_RTS.device)[:, None]
        return (see_AKT1S & wrote_AK1KS).flatten(3).flatten(1, 2)


def moved(rows: Tensor, used: int | None, *buffers: Tensor) -> list[Tensor]:
    """x[rows] of each, made in x itself: only rows that are to stand elsewhere are copied. Each x is spoilt by it.

    used: of the steps, which are the axis before the last; no others hold anything. None: all may.
    """
    count = len(rows)
    if any(count > len(x) for x in buffers):
        return [x.index_select(0, rows) for x in buffers]
    to = (rows != torch.arange(count, device=rows.device)).nonzero()[:, 0]
    if len(to):
        begin = rows[to]
        fresh = rows.device.type == "cpu" and int(begin.min()) >= count  # from behind all that stay
        for x in buffers:
            part = x if used is None else x.narrow(-2, 0, used)
            if not fresh or not move(part.flatten(1, -3) if x.dim() > 4 else part, begin, to):
                x.index_copy_(0, to, x.index_select(0, begin))
    return [x[:count] for x in buffers]


def _resized(x: Tensor, dim: int, size: int) -> Tensor:
    return F.pad(x, (0, 0) * (-dim - 1) + (0, size - x.shape[dim]))  # a negative room cuts off
