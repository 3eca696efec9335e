"""Keys and values of the steps so far, flush left: step s of a row stands at s, whatever padding came between."""
# B rows  G key heads  S steps that fit  T new steps  K width

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.cohorts import Cohorts, Room
from seqloom.layers.forked_cache import MOST, ForkedCache, moved
from seqloom.layers.layout import Layout
from seqloom.layers.native.attention import ATTENTION, Asked, fits, over_steps
from seqloom.layers.native.block import numbers_of
from seqloom.layers.static_cache import StaticCache
from seqloom.layers.static_state import Size


@dataclass(frozen=True)
class Cache:
    keys_BGSK: Tensor
    values_BGSK: Tensor
    lengths_B: Tensor
    static: bool = False  # S never changes; new steps are written in place; the last place takes what is not real
    even: bool = True  # every row has S steps, less the free ones: nothing behind a row's end to hide
    room: int = 0  # above 0: the buffers grow by so many steps at a time, and new steps are written in place
    free: int = 0  # places at the end that no row has reached
    forks: bool = False  # its reader can read a ForkedCache
    apart: bool = False  # its reader can read Cohorts of it

    @classmethod
    def empty(
        cls, rows: int, heads: int, key_width: int, value_width: int, capacity: int | None, like: Tensor
    ) -> "Cache":
        size = 0 if capacity is None else capacity + 1
        return cls(
            like.new_zeros(rows, heads, size, key_width),
            like.new_zeros(rows, heads, size, value_width),
            torch.zeros(rows, dtype=torch.int64, device=like.device),
            static=capacity is not None,
            even=capacity is None,
        )

    @classmethod
    def join(cls, caches: Sequence["Cache"]) -> "Cache":
        """The rows of all, as wide as the longest needs; places behind all rows' ends are given back."""
        lengths_B = torch.cat([cache.lengths_B for cache in caches])
        sizes = {cache.keys_BGSK.shape[2] - cache.free for cache in caches}
        static, room = caches[0].static, caches[0].room
        if any(cache.static != static for cache in caches) or (static and len(sizes) > 1):
            raise ValueError("static caches can only be joined with others of the same capacity")
        even = len(sizes) == 1 and all(cache.even for cache in caches)
        longest = 0 if static or even or not len(lengths_B) else int(lengths_B.max())
        size = sizes.pop() if static or even else longest
        keys, values = (
            torch.cat([_resized(part, size + room) for part in parts])
            for parts in ([cache.keys_BGSK for cache in caches], [cache.values_BGSK for cache in caches])
        )
        return cls(keys, values, lengths_B, static, even, room, room, caches[0].forks, caches[0].apart)

    @property
    def rows(self) -> int:
        return self.lengths_B.shape[0]

    def roomy(self, room: Room) -> "Cache | Cohorts[Cache]":
        if self.static:
            return self
        made = replace(self, room=room.steps)
        if not self.apart:
            return made
        # rows that leave are followed by those of their own part; to attend part by part costs something only in torch
        split = len(room.sizes) > 1 and self.forks and ATTENTION.get() is not None
        return Cohorts(made._apart(room.sizes) if split else (made,))

    def _apart(self, sizes: tuple[int, ...]) -> "tuple[Cache, ...]":
        fan = self.rows // max(1, sum(sizes))  # so many rows share each memory
        parts = (x.split([fan * size for size in sizes]) for x in (self.keys_BGSK, self.values_BGSK, self.lengths_B))
        return tuple(replace(self, keys_BGSK=k, values_BGSK=v, lengths_B=n) for k, v, n in zip(*parts, strict=True))

    def static_like(self, size: Size) -> StaticCache:
        return StaticCache.like(self, size)

    def reorder(self, rows: Tensor) -> "Cache":
        if self.room:
            used = self.keys_BGSK.shape[2] - self.free
            keys, values = moved(rows, used, self.keys_BGSK, self.values_BGSK)
        else:
            keys, values = self.keys_BGSK.index_select(0, rows), self.values_BGSK.index_select(0, rows)
        return replace(self, keys_BGSK=keys, values_BGSK=values, lengths_B=self.lengths_B.index_select(0, rows))

    fork = reorder

    def fan_out(self, times: int) -> "Cache | ForkedCache":
        if self.forks and not self.static and 1 < times <= MOST:
            made = ForkedCache.of(*self.seen, self.lengths_B, times, self.apart)
            return replace(made, room=self.room) if self.room else made
        parts = (self.keys_BGSK, self.values_BGSK, self.lengths_B)
        keys, values, lengths_B = (part.repeat_interleave(times, 0) for part in parts)
        return replace(self, keys_BGSK=keys, values_BGSK=values, lengths_B=lengths_B)

    @property
    def longest(self) -> int:
        """Steps that the longest row has, or had."""
        return self.keys_BGSK.shape[2] - self.free

    @property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Keys and values without the free places."""
        end = self.keys_BGSK.shape[2] - self.free
        return self.keys_BGSK[:, :, :end], self.values_BGSK[:, :, :end]

    def extend(self, k_BGTK: Tensor, v_BGTK: Tensor, layout: Layout) -> "Cache":
        """Write the new steps behind each row's last one. They are flush left; those that are not real are not kept."""
        lengths_B = self.lengths_B + layout.lengths_B
        even, T = self.even and layout.uniform, layout.longest
        if even and not self.room:
            grown = torch.cat((self.keys_BGSK, k_BGTK), 2), torch.cat((self.values_BGSK, v_BGTK), 2)
            return Cache(*grown, lengths_B, forks=self.forks, apart=self.apart)
        keys, values, free = self._wide(T)
        begin = keys.shape[2] - free
        steps_BT = None if even else self._places(layout)
        for buffer, new_BGTK in (keys, k_BGTK), (values, v_BGTK):
            if steps_BT is None:
                buffer.narrow(2, begin, T).copy_(new_BGTK)
            else:
                buffer.scatter_(2, steps_BT[:, None, :, None].expand_as(new_BGTK), new_BGTK.to(buffer.dtype))
        free = 0 if self.static else free - T
        return Cache(keys, values, lengths_B, self.static, even, self.room, free, self.forks, self.apart)

    def _wide(self, steps: int) -> tuple[Tensor, Tensor, int]:
        """Keys, values and how many places are free, at least for so many steps."""
        if self.static or self.free >= steps:
            return self.keys_BGSK, self.values_BGSK, self.free
        free = max(self.room, steps, self.keys_BGSK.shape[2] // 2)  # by more each time: all is copied when it grows
        more = (0, 0, 0, free - self.free)
        return F.pad(self.keys_BGSK, more), F.pad(self.values_BGSK, more), free

    def stepped(self, asked: Asked) -> "Cache | None":
        """`extend` by one step, and attention over all of them, in C; None where it cannot be so."""
        after = self._after_one()
        if after is not None:
            keys, values = after.keys_BGSK, after.values_BGSK
            over_steps(asked, keys, values, self._size(after) if self.even else self.lengths_B)
        return after

    def for_c(self) -> "tuple[list[int], Cache] | None":
        """What C must know to extend it by one step, and how it is then."""
        after = self._after_one()
        if after is None:
            return None
        lengths_B = None if self.even else self.lengths_B
        return numbers_of(after.keys_BGSK, after.values_BGSK, lengths_B, self._size(after), self.rows, 1), after

    def for_a_run(self, steps: int) -> "tuple[list[int], Cache, Tensor | None] | None":
        """What C must know to extend it by up to so many steps, the same with room for them, and lengths that C counts
        up: these must live as long as its call. See `after`."""
        wide = self._roomier(steps)
        if wide is None:
            return None
        lengths_B = None if self.even else self.lengths_B.clone()
        size = wide.keys_BGSK.shape[2] - wide.free
        return numbers_of(wide.keys_BGSK, wide.values_BGSK, lengths_B, size, self.rows, 1), wide, lengths_B

    def after(self, steps: int) -> "Cache":
        """Behind so many more, that somebody wrote there."""
        return replace(self, lengths_B=self.lengths_B + steps, free=self.free - steps)

    def _roomier(self, steps: int) -> "Cache | None":
        """With room for so many more; None where they would not be written in place."""
        if self.static or not self.room:
            return None
        keys, values, free = self._wide(steps)
        if not fits(keys, values):
            return None
        return Cache(keys, values, self.lengths_B, False, self.even, self.room, free, self.forks, self.apart)

    def _after_one(self) -> "Cache | None":
        """With one step more, which is still to be written; None where it would not be written in place."""
        wide = self._roomier(1)
        return None if wide is None else wide.after(1)

    def _size(self, after: "Cache") -> int:
        """Steps of the longest row."""
        return after.keys_BGSK.shape[2] - after.free - 1

    def _places(self, layout: Layout) -> Tensor:
        steps_BT = self.lengths_B[:, None] + torch.arange(layout.longest, device=self.lengths_B.device)
        if not self.static:
            return steps_BT
        spare = self.keys_BGSK.shape[2] - 1
        # past the spare place there is nothing: a step too many stops the program, as it must
        return torch.where(layout.real_BT, steps_BT + (steps_BT >= spare), spare)


def _resized(x_BGSK: Tensor, size: int) -> Tensor:
    return F.pad(x_BGSK, (0, 0, 0, size - x_BGSK.shape[2]))  # a negative room cuts off
