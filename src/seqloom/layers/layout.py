"""Which positions of a batch are real, and where each sequence begins and ends.

A batch of sequences of unequal length has two forms:

packed   all real tokens in one row, sequence after sequence: x_ND
padded   one row a sequence, filled up to the longest: x_BTD

Token-wise layers do not care: they work on the last axis. A mixer asks its layout for the form it needs. Everything
that a layout knows is worked out once, when it is made, and shared by all layers of a model.

    layout = Packed.of([3, 1, 2])                      # six tokens
    x_BTD = layout.pad(x_ND)                           # flush left, three rows of three
    x_ND = layout.unpad(x_BTD)
"""
# B rows  T steps of the longest row  N tokens of all rows

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor


class Layout:
    """What mixers may ask of a batch, whichever its form."""

    lengths_B: Tensor  # real steps of each row
    structure_BTT: Tensor | None  # who may see whom beyond what a mixer itself says (a graph's edges); None: no limit

    @property
    def rows(self) -> int:
        return self.lengths_B.shape[0]

    @property
    def lengths_on_host(self) -> Tensor:
        """The lengths on the CPU, for kernels that must know them before they start."""
        return self.lengths_B.cpu()

    @property
    def longest(self) -> int:
        """Width of the padded form; no row is longer."""
        raise NotImplementedError

    @property
    def uniform(self) -> bool:
        """Every row is as long as the longest: nothing in the padded form needs a mask."""
        raise NotImplementedError

    @property
    def real(self) -> Tensor | None:
        """True for real tokens, in this layout's own form; None when all are real."""
        raise NotImplementedError

    @property
    def steps(self) -> Tensor:
        """Each token's index within its row, in this layout's own form."""
        raise NotImplementedError

    def places(self, after_B: Tensor | None) -> Tensor:
        """Each token's index in its whole sequence, of which `after_B` steps have gone before; in the own form."""
        raise NotImplementedError

    @property
    def real_BT(self) -> Tensor:
        """True for real steps of the flush-left padded form."""
        return torch.arange(self.longest, device=self.lengths_B.device) < self.lengths_B[:, None]

    def pad(self, x: Tensor) -> Tensor:
        """This layout's own form → padded, flush left, zeros behind each row's end."""
        raise NotImplementedError

    def unpad(self, x_BT: Tensor) -> Tensor:
        """Padded, flush left → this layout's own form."""
        raise NotImplementedError

    def of_rows(self, x_BD: Tensor) -> Tensor:
        """Each token gets its row's vector, in this layout's own form (or one that expands to it)."""
        raise NotImplementedError

    def last_B(self, x: Tensor) -> Tensor:
        """The last real token of each row (zeros for an empty row): x_BD."""
        x_BTD = self.pad(x)
        at_B = (self.lengths_B - 1).clamp(min=0)
        last_BD = x_BTD[torch.arange(self.rows, device=x.device), at_B]
        return last_BD * (self.lengths_B > 0)[:, None].to(x.dtype)

    def mean_B(self, x: Tensor) -> Tensor:
        """The mean of the real tokens of each row (zeros for an empty row): x_BD."""
        return self.pad(x).sum(1) / self.lengths_B.clamp(min=1)[:, None].to(x.dtype)


@dataclass(frozen=True)
class Padded(Layout):
    """x_BTD. Real tokens of a row are contiguous; padding may stand before them, behind them, or both."""

    lengths_B: Tensor
    width: int
    starts_B: Tensor | None = None  # None: every row begins at step 0
    full: bool = False  # known on the host: no padding at all
    structure_BTT: Tensor | None = None

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | Tensor,
        width: int | None = None,
        starts: Sequence[int] | Tensor | None = None,
        device: torch.device | str | None = None,
        structure: Tensor | None = None,
    ) -> Self:
        lengths_B = torch.as_tensor(lengths, dtype=torch.int64)
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
            None if structure is None else structure.to(device),
        )

    @classmethod
    def whole(cls, rows: int, width: int, device: torch.device | str | None = None) -> Self:
        """No padding at all."""
        return cls(torch.full((rows,), width, device=device), width, full=True)

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

    def places(self, after_B: Tensor | None) -> Tensor:
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

    def pad(self, x: Tensor) -> Tensor:
        if self.full:
            return x
        flush_BT = x if self.starts_B is None else _roll(x, self.starts_B)
        # where, not times: padding may hold anything, NaN too
        return torch.where(_like(self.real_BT, x), flush_BT, 0)

    def unpad(self, x_BT: Tensor) -> Tensor:
        return x_BT if self.starts_B is None else _roll(x_BT, -self.starts_B)


@dataclass(frozen=True)
class Packed(Layout):
    """x_ND: sequence after sequence, no padding; perhaps filler at the end, so that N is the same in every batch."""

    lengths_B: Tensor
    lengths_host_B: Tensor  # the same on the CPU
    offsets_B1: Tensor  # row b holds tokens offsets[b] … offsets[b + 1]
    row_N: Tensor  # filler: row B - 1
    step_N: Tensor
    slot_N: Tensor  # where token n stands in the flattened padded form; filler: 0
    token_BT: Tensor  # which token stands in a padded slot; padding: 0
    taken_BT: Tensor  # False: padding
    gap_M: Tensor | None  # the padding slots; None: their number must not matter, as the frame is fixed
    real_N: Tensor | None  # None: no filler
    most: int  # width of the padded form
    same: bool  # all rows have that width
    structure_BTT: Tensor | None = None

    @classmethod
    def of(
        cls,
        lengths: Sequence[int] | Tensor,
        *,
        tokens: int | None = None,
        rows: int | None = None,
        longest: int | None = None,
        device: torch.device | str | None = None,
        structure: Tensor | None = None,
    ) -> Self:
        """Lay out sequences of these lengths.

        tokens, rows, longest: a frame of fixed shapes. Batches in the same frame have the same shapes throughout, so
        that a compiled model is compiled once; what is not needed is filled up.
        """
        real_B = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
        framed = tokens is not None or rows is not None or longest is not None
        total = int(real_B.sum())
        top = int(real_B.max()) if real_B.numel() else 0
        N, B, T = (tokens or total), (rows or real_B.numel()), (longest or top)
        for name, need, have in ("tokens", total, N), ("rows", real_B.numel(), B), ("steps", top, T):
            if need > have:
                raise ValueError(f"{need} {name} do not fit into a frame of {have} {name}")
        lengths_B = torch.zeros(B, dtype=torch.int64)
        lengths_B[: real_B.numel()] = real_B
        offsets_B1 = torch.zeros(B + 1, dtype=torch.int32)  # as kernels want them
        torch.cumsum(lengths_B, 0, out=offsets_B1[1:])
        row_N = torch.full((N,), max(B - 1, 0))
        row_N[:total] = torch.repeat_interleave(torch.arange(B), lengths_B)
        step_N = torch.zeros(N, dtype=torch.int64)
        step_N[:total] = torch.arange(total) - offsets_B1[row_N[:total]]
        slot_N = row_N * T + step_N
        slot_N[total:] = 0
        token_BT = torch.zeros(B * T, dtype=torch.int64)
        token_BT[slot_N[:total]] = torch.arange(total)
        token_BT = token_BT.view(B, T)
        taken_BT = torch.arange(T) < lengths_B[:, None]
        real_N = torch.arange(N) < total if framed else None

        def there(x: Tensor) -> Tensor:
            return x.to(device, non_blocking=True)

        return cls(
            lengths_B=there(lengths_B),
            lengths_host_B=lengths_B,
            offsets_B1=there(offsets_B1),
            row_N=there(row_N),
            step_N=there(step_N),
            slot_N=there(slot_N),
            token_BT=there(token_BT),
            taken_BT=there(taken_BT),
            gap_M=None if framed else there((~taken_BT).flatten().nonzero()[:, 0]),
            real_N=None if real_N is None else there(real_N),
            most=T,
            same=not framed and bool((lengths_B == T).all()),
            structure_BTT=None if structure is None else there(structure),
        )

    @property
    def lengths_on_host(self) -> Tensor:
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

    def places(self, after_B: Tensor | None) -> Tensor:
        return self.step_N if after_B is None else self.step_N + after_B[self.row_N]

    def of_rows(self, x_BD: Tensor) -> Tensor:
        return x_BD[self.row_N]

    @property
    def real_BT(self) -> Tensor:
        return self.taken_BT

    @property
    def _moves(self) -> tuple[Tensor | None, ...]:
        return self.token_BT, self.taken_BT, self.gap_M, self.slot_N, self.real_N

    def pad(self, x: Tensor) -> Tensor:
        if self.same:
            return x.unflatten(0, (self.rows, self.most))
        return _Pad.apply(x, *self._moves)  # type: ignore[no-untyped-call]

    def unpad(self, x_BT: Tensor) -> Tensor:
        if self.same:
            return x_BT.flatten(0, 1)
        return _Unpad.apply(x_BT, *self._moves)  # type: ignore[no-untyped-call]


def _like(mask: Tensor, x: Tensor) -> Tensor:
    """A mask with as many axes as x."""
    return mask.view(*mask.shape, *(1,) * (x.dim() - mask.dim()))


def _roll(x_BT: Tensor, by_B: Tensor) -> Tensor:
    """Turn each row to the left by its own number of steps."""
    T = x_BT.shape[1]
    from_BT = (torch.arange(T, device=by_B.device) + by_B[:, None]) % max(T, 1)
    return torch.gather(x_BT, 1, _like(from_BT, x_BT).expand_as(x_BT))


# The two moves below are each other's transpose, and so each other's gradient. Written out, because a gather's own
# gradient is a scatter that adds, many times slower, and no two tokens ever share a slot.


def _to_padded(x_N: Tensor, token_BT: Tensor, taken_BT: Tensor, gap_M: Tensor | None) -> Tensor:
    if x_N.shape[0] == 0:
        return x_N.new_zeros(*token_BT.shape, *x_N.shape[1:])
    flat = x_N.index_select(0, token_BT.flatten())
    if gap_M is not None:
        return flat.index_fill_(0, gap_M, 0).unflatten(0, token_BT.shape)
    x_BT = flat.unflatten(0, token_BT.shape)
    return torch.where(_like(taken_BT, x_BT), x_BT, 0)


def _to_packed(x_BT: Tensor, slot_N: Tensor, real_N: Tensor | None) -> Tensor:
    x_N = x_BT.flatten(0, 1).index_select(0, slot_N)
    return x_N if real_N is None else torch.where(_like(real_N, x_N), x_N, 0)


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


def flip(x_BT: Tensor, lengths_B: Tensor) -> Tensor:
    """Each row's real steps in reverse order; flush left before and after."""
    steps_T = torch.arange(x_BT.shape[1], device=x_BT.device)
    from_BT = torch.where(steps_T < lengths_B[:, None], lengths_B[:, None] - 1 - steps_T, steps_T)
    return torch.gather(x_BT, 1, _like(from_BT, x_BT).expand_as(x_BT))


def with_structure(layout: Padded | Packed, structure_BTT: Tensor) -> Layout:
    """The same batch, in which each step may see only what the structure allows (True: may see)."""
    return replace(layout, structure_BTT=structure_BTT)
