"""All real tokens in one row, sequence after sequence: x_ND."""
# B rows  T steps of the longest row  N tokens of all rows

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from seqloom.layers.kernels import usable
from seqloom.layers.layout.contract import Layout, like
from seqloom.layers.layout.edges import Edges
from seqloom.layers.native.rows import spread


class Slots(NamedTuple):
    """The padded form, slot by slot."""

    token_BT: Tensor  # which token stands there; padding: 0
    taken_BT: Tensor  # False: padding


@dataclass(frozen=True)
class Packed(Layout):
    """x_ND: sequence after sequence, no padding; perhaps filler at the end, so that N is the same in every batch."""

    lengths_B: Tensor
    lengths_host_B: Tensor | None  # the same on the CPU; None: they are known to the device alone
    offsets_B1: Tensor  # row b holds tokens offsets[b] … offsets[b + 1]; 32 bits, as kernels want them
    row_N: Tensor  # filler: row B - 1
    step_N: Tensor
    slot_N: Tensor  # where token n stands in the flattened padded form; filler: 0
    slots: Slots | None  # None: they are worked out when they are asked for, as a large frame has many
    gap_M: Tensor | None  # the padding slots; None: their number must not matter, as the frame is fixed
    real_N: Tensor | None  # None: no filler
    most: int  # width of the padded form
    same: bool  # all rows have that width
    structure_BTT: Tensor | None = None
    edges: Edges | None = None
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # what is worked out when asked for

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | Tensor,
        *,
        tokens: int | None = None,
        rows: int | None = None,
        longest: int | None = None,
        device: torch.device | str | None = None,
    ) -> Self:
        """Lay out sequences of these lengths.

        tokens, rows, longest: a frame of fixed shapes. Batches in the same frame have the same shapes throughout, so
        that a compiled model is compiled once; what is not needed is filled up.
        """
        given_B = torch.as_tensor(lengths)
        if given_B.is_floating_point() and given_B.numel():
            raise TypeError("lengths are whole numbers")
        device = given_B.device if device is None else device
        real_B = given_B.to("cpu", torch.int64)
        framed = tokens is not None or rows is not None or longest is not None
        total, top = int(real_B.sum()), int(real_B.max()) if real_B.numel() else 0
        given = (tokens, total), (rows, real_B.numel()), (longest, top)
        N, B, T = (need if frame is None else frame for frame, need in given)
        for name, need, have in ("tokens", total, N), ("rows", real_B.numel(), B), ("steps", top, T):
            if need > have:
                raise ValueError(f"{need} {name} do not fit into a frame of {have} {name}")
        # numpy: torch would begin threads for so little, and wait for them on a busy machine
        lengths_B, offsets_B1 = np.zeros(B, np.int64), np.zeros(B + 1, np.int64)
        lengths_B[: real_B.numel()] = real_B.numpy()
        np.cumsum(lengths_B, out=offsets_B1[1:])
        row_N, step_N, slot_N = np.full(N, max(B - 1, 0)), np.zeros(N, np.int64), np.zeros(N, np.int64)
        row_N[:total] = row_n = np.repeat(np.arange(B), lengths_B)
        step_N[:total] = step_n = np.arange(total) - np.repeat(offsets_B1[:-1], lengths_B)
        slot_N[:total] = row_n * T + step_n
        step_T = np.arange(T)
        taken_BT = step_T < lengths_B[:, None]

        def there(x: NDArray[Any]) -> Tensor:
            return torch.from_numpy(x).to(device, non_blocking=True)

        return cls(
            lengths_B=there(lengths_B),
            lengths_host_B=torch.from_numpy(lengths_B),
            offsets_B1=there(offsets_B1.astype(np.int32)),
            row_N=there(row_N),
            step_N=there(step_N),
            slot_N=there(slot_N),
            slots=Slots(there(np.where(taken_BT, offsets_B1[:-1, None] + step_T, 0)), there(taken_BT)),
            gap_M=None if framed else there(np.flatnonzero(~taken_BT)),
            real_N=there(np.arange(N) < total) if framed else None,
            most=T,
            same=not framed and bool(taken_BT.all()),
        )

    @classmethod
    def within(cls, lengths_B: Tensor, tokens: int, longest: int, same: bool = False) -> Self:
        """As `of` in a frame, from lengths that lie on a device already: all is worked out there, and nobody waits.

        The lengths must fit. same: all rows are as long as the longest, and there is no filler.
        """
        ends_B = lengths_B.cumsum(0)
        offsets_B1 = F.pad(ends_B, (1, 0))
        token_N = torch.arange(tokens, device=ends_B.device)
        row_N = torch.searchsorted(ends_B, token_N, right=True).clamp(max=max(len(lengths_B) - 1, 0))
        real_N = token_N < ends_B[-1]
        step_N = torch.where(real_N, token_N - offsets_B1[row_N], 0)
        return cls(
            lengths_B=lengths_B,
            lengths_host_B=None,
            offsets_B1=offsets_B1.int(),
            row_N=row_N,
            step_N=step_N,
            slot_N=torch.where(real_N, row_N * longest + step_N, 0),
            slots=None,
            gap_M=None,
            real_N=None if same else real_N,
            most=longest,
            same=same,
        )

    @property
    def lengths_on_host(self) -> Tensor | None:
        return self.lengths_host_B

    @property
    def longest(self) -> int:
        return self.most

    @property
    def uniform(self) -> bool:
        return self.same

    @property
    def real(self) -> Tensor | None:
        return self.real_N

    @property
    def steps(self) -> Tensor:
        return self.step_N

    def _places(self, after_B: Tensor | None) -> Tensor:
        return self.step_N if after_B is None else self.step_N + after_B[self.row_N]

    def of_rows(self, x_BD: Tensor) -> Tensor:
        return x_BD[self.row_N]

    @property
    def real_BT(self) -> Tensor:
        return self._slots.taken_BT

    @property
    def _slots(self) -> Slots:
        if self.slots is not None:
            return self.slots
        if "slots" not in self.memo:
            step_T = torch.arange(self.most, device=self.lengths_B.device)
            taken_BT = step_T < self.lengths_B[:, None]
            self.memo["slots"] = Slots(torch.where(taken_BT, self.offsets_B1[:-1, None] + step_T, 0), taken_BT)
        return self.memo["slots"]

    @property
    def _moves(self) -> tuple[Tensor | None, ...]:
        return *self._slots, self.gap_M, self.slot_N, self.real_N

    def check(self, x: Tensor) -> None:
        if len(x) != len(self.row_N):
            raise ValueError(f"{len(x)} tokens, but the layout says {len(self.row_N)}")

    def pad(self, x: Tensor) -> Tensor:
        self.check(x)
        self._padding()
        if self.same:
            return x.unflatten(0, (self.rows, self.most))
        if self.real_N is None and (made := spread(x, self.offsets_B1, self.most)) is not None:
            return made
        return _Pad.apply(x, *self._moves)  # type: ignore[no-untyped-call]

    def pad_heads(self, x: Tensor) -> Tensor:
        if self.rows > 1 and self.real_N is None:  # of a single row, what lies there can be read as it is
            self.check(x)
            if (made := spread(x, self.offsets_B1, self.most, heads=True)) is not None:
                self._padding()
                return made
        if not self.same and usable(x) and not (x.requires_grad and torch.is_grad_enabled()):
            from seqloom.layers.kernels.rows import spread as spread_there

            self.check(x)
            self._padding()
            return spread_there(x, self.offsets_B1, self.most)
        return super().pad_heads(x)

    @property
    def padded(self) -> bool:
        """Whether anybody has asked for the padded form, also of the same rows in another layout."""
        return "padded" in self.memo

    def _padding(self) -> None:
        self.memo["padded"] = True
        if isinstance(once := self.memo.get("once"), Packed):
            once._padding()

    def unpad(self, x_BT: Tensor) -> Tensor:
        if self.same:
            return x_BT.flatten(0, 1)
        return _Unpad.apply(x_BT, *self._moves)  # type: ignore[no-untyped-call]


# The two moves below are each other's transpose, and so each other's gradient. Written out, because a gather's own
# gradient is a scatter that adds, many times slower, and no two tokens ever share a slot.


def _to_padded(x_N: Tensor, token_BT: Tensor, taken_BT: Tensor, gap_M: Tensor | None) -> Tensor:
    if x_N.shape[0] == 0:
        return x_N.new_zeros(*token_BT.shape, *x_N.shape[1:])
    flat = x_N.index_select(0, token_BT.flatten())
    if gap_M is not None:
        return flat.index_fill_(0, gap_M, 0).unflatten(0, token_BT.shape)
    x_BT = flat.unflatten(0, token_BT.shape)
    return torch.where(like(taken_BT, x_BT), x_BT, 0)


def _to_packed(x_BT: Tensor, slot_N: Tensor, real_N: Tensor | None) -> Tensor:
    if x_BT.shape[0] * x_BT.shape[1] == 0:
        return x_BT.new_zeros(*slot_N.shape, *x_BT.shape[2:])
    x_N = x_BT.flatten(0, 1).index_select(0, slot_N)
    return x_N if real_N is None else torch.where(like(real_N, x_N), x_N, 0)


class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_N: Tensor, *moves: Tensor | None) -> Tensor:
        ctx.save_for_backward(*moves[3:])
        return _to_padded(x_N, *moves[:3])  # type: ignore[arg-type]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _to_packed(grads[0], *ctx.saved_tensors), None, None, None, None, None


class _Unpad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_BT: Tensor, *moves: Tensor | None) -> Tensor:
        ctx.save_for_backward(*moves[:3])
        return _to_packed(x_BT, *moves[3:])  # type: ignore[arg-type]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _to_padded(grads[0], *ctx.saved_tensors), None, None, None, None, None
