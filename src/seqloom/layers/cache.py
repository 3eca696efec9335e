"""Keys and values of the steps so far, flush left: step s of a row stands at s, whatever padding came between."""
# B rows  G key heads  S steps that fit  T new steps  K width

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Layout


@dataclass(frozen=True)
class Cache:
    keys_BGSK: Tensor
    values_BGSK: Tensor
    lengths_B: Tensor
    static: bool = False  # S never changes; new steps are written in place; the last place takes what is not real
    even: bool = True  # every row has S steps: nothing behind a row's end to hide
    fixed: bool = False  # made from a memory, once: no step changes it

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
        sizes = {cache.keys_BGSK.shape[2] for cache in caches}
        static = caches[0].static
        if any(cache.static != static for cache in caches) or (static and len(sizes) > 1):
            raise ValueError("static caches can only be joined with others of the same capacity")
        if static:
            size = sizes.pop()
        else:
            size = max(sizes) if all(cache.even for cache in caches) else int(lengths_B.max()) if len(lengths_B) else 0
        keys, values = (
            torch.cat([_resized(part, size) for part in parts])
            for parts in ([cache.keys_BGSK for cache in caches], [cache.values_BGSK for cache in caches])
        )
        even = len(sizes) == 1 and all(cache.even for cache in caches)
        return cls(keys, values, lengths_B, static, even, caches[0].fixed)

    def extend(self, k_BGTK: Tensor, v_BGTK: Tensor, layout: Layout) -> "Cache":
        """Write the new steps behind each row's last one. They are flush left; those that are not real are not kept."""
        lengths_B = self.lengths_B + layout.lengths_B
        if self.even and layout.uniform:
            grown = torch.cat((self.keys_BGSK, k_BGTK), 2), torch.cat((self.values_BGSK, v_BGTK), 2)
            return Cache(*grown, lengths_B)
        steps_BT = self._places(layout)
        if not self.static:
            room = (0, 0, 0, layout.longest)
            keys, values = F.pad(self.keys_BGSK, room), F.pad(self.values_BGSK, room)
        else:
            keys, values = self.keys_BGSK, self.values_BGSK
        for buffer, new_BGTK in (keys, k_BGTK), (values, v_BGTK):
            buffer.scatter_(2, steps_BT[:, None, :, None].expand_as(new_BGTK), new_BGTK.to(buffer.dtype))
        return Cache(keys, values, lengths_B, self.static, even=False)

    def _places(self, layout: Layout) -> Tensor:
        steps_BT = self.lengths_B[:, None] + torch.arange(layout.longest, device=self.lengths_B.device)
        if not self.static:
            return steps_BT
        spare = self.keys_BGSK.shape[2] - 1
        # past the spare place there is nothing: a step too many stops the program, as it must
        return torch.where(layout.real_BT, steps_BT + (steps_BT >= spare), spare)


def _resized(x_BGSK: Tensor, size: int) -> Tensor:
    return F.pad(x_BGSK, (0, 0, 0, size - x_BGSK.shape[2]))  # a negative room cuts off
