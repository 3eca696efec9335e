"""States that keep one shape and one place in memory from step to step, whatever layer they are of.

A state is made static after the example of one that a model started; others are put into its rows when theirs are
free. Layers know nothing of it: what they return behind a step is copied back, unless it was written in place.
"""
# A items  K hypotheses to each  R = A·K rows

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from seqloom.layers.kernels import usable

S = TypeVar("S")

PLAIN = (bool, int, float, str, type(None))


class NotStaticError(Exception):
    """A state that changes its shape, or does not know how to be static."""


@dataclass(frozen=True)
class Rows:
    """Some items of a static state, and their hypotheses' rows."""

    items_A: Tensor
    fan: int

    @property
    def rows_R(self) -> Tensor:
        if self.fan == 1:
            return self.items_A
        return (self.items_A[:, None] * self.fan + torch.arange(self.fan, device=self.items_A.device)).flatten()


@dataclass(frozen=True)
class Places:
    """Where rows stand, and whose steps they look back on. Written in place, once a step, by whoever writes."""

    lengths_R: Tensor
    """Steps that each row has behind it."""
    writer_RS: Tensor | None
    """Of an item's hypotheses, the one that wrote step s of row r; None: there is one to each item."""

    @classmethod
    def empty(cls, items: int, fan: int, steps: int, device: torch.device) -> "Places":
        rows = items * fan
        lengths_R = torch.zeros(rows, dtype=torch.int64, device=device)
        writer_RS = torch.zeros(rows, steps, dtype=torch.int64, device=device) if fan > 1 else None
        return cls(lengths_R, writer_RS)

    @property
    def rows(self) -> int:
        return self.lengths_R.shape[0]

    def first(self, rows: int) -> "Places":
        """Of the first so many rows, in the same memory."""
        return Places(self.lengths_R[:rows], None if self.writer_RS is None else self.writer_RS[:rows])

    def begin(self, rows: Rows) -> None:
        """These hold something new: whatever it is, the item's first hypothesis wrote it."""
        if self.writer_RS is not None:
            self.writer_RS.index_fill_(0, rows.rows_R, 0)

    def move(self, to: Rows, origin: Rows) -> None:
        for part in (self.lengths_R, self.writer_RS):
            if part is not None:
                part.index_copy_(0, to.rows_R, part.index_select(0, origin.rows_R))

    def mark(self, fan: int) -> None:
        """Before a step: it is the row itself that writes it."""
        if self.writer_RS is not None:
            own_R1 = (torch.arange(self.rows, device=self.lengths_R.device) % fan)[:, None]
            self.writer_RS.scatter_(1, self.lengths_R[:, None], own_R1)

    def advance(self, goes_R: Tensor, from_R: Tensor | None) -> None:
        """Behind a step: rows that go on stand one further. from_R: the row that each one continues."""
        self.lengths_R.add_(goes_R)
        if self.writer_RS is not None and from_R is not None:
            self.writer_RS.copy_(self.writer_RS.index_select(0, from_R))


@dataclass(frozen=True)
class Size:
    """How large a static state is. fan: hypotheses to an item. steps: that fit into a cache. source: positions that
    fit into a memory."""

    items: int
    fan: int
    steps: int
    source: int
    places: Places

    @property
    def rows(self) -> int:
        return self.items * self.fan


def static_like(state: S, size: Size) -> S:
    """Empty, after the example of a state with one row to each item."""
    match state:
        case Tensor():
            return state.new_zeros(size.rows, *state.shape[1:])  # type: ignore[return-value]
        case tuple() if type(state) is tuple:
            return tuple(static_like(part, size) for part in state)  # type: ignore[return-value]
        case _ if is_dataclass(state) and not isinstance(state, type):
            if hasattr(state, "static_like"):
                return state.static_like(size)
            if hasattr(state, "fan_out") or hasattr(state, "join"):
                raise NotStaticError(type(state).__name__)  # its rows are not simply rows
            return replace(state, **{f.name: static_like(getattr(state, f.name), size) for f in fields(state)})
        case _ if isinstance(state, PLAIN):
            return state
        case _:
            raise NotStaticError(type(state).__name__)


def first(static: S, items: int, fan: int) -> S:
    """Of the first so many items, in the same memory."""
    match static:
        case Tensor():
            return static[: items * fan]  # type: ignore[return-value]
        case tuple() if type(static) is tuple:
            return tuple(first(part, items, fan) for part in static)  # type: ignore[return-value]
        case _ if is_dataclass(static) and not isinstance(static, type):
            if hasattr(static, "first"):
                return static.first(items)
            return replace(static, **{f.name: first(getattr(static, f.name), items, fan) for f in fields(static)})
        case _:
            return static


def put(static: Any, rows: Rows, state: Any) -> None:
    """Into these rows, what a state with one row to each item holds."""
    for part, new in _leaves("put", static, state):
        match part:
            case Tensor():
                if part.shape[1:] != new.shape[1:]:
                    raise NotStaticError(f"{tuple(new.shape)} instead of {tuple(part.shape)}")
                every = new if rows.fan == 1 else new.repeat_interleave(rows.fan, 0)
                part.index_copy_(0, rows.rows_R, every.to(part.dtype))
            case _ if hasattr(part, "put"):
                part.put(rows, new)
            case _ if part != new:
                raise NotStaticError(f"{new!r} instead of {part!r}")


def put_steps(buffer_RGSD: Tensor, rows_B: Tensor, new_BGTD: Tensor) -> None:
    """Into the first steps of these rows, what others hold."""
    if usable(buffer_RGSD) and buffer_RGSD.is_contiguous():
        from seqloom.layers.kernels.rows import put_steps as put_there

        put_there(buffer_RGSD, rows_B, new_BGTD)
        return
    buffer_RGSD[:, :, : new_BGTD.shape[2]].index_copy_(0, rows_B, new_BGTD.to(buffer_RGSD.dtype))


def move(static: Any, to: Rows, origin: Rows) -> None:
    """Some items' rows to others' places."""
    for (part,) in _leaves("move", static):
        match part:
            case Tensor():
                part.index_copy_(0, to.rows_R, part.index_select(0, origin.rows_R))
            case _ if hasattr(part, "move"):
                part.move(to, origin)


def settle(static: Any, after: Any, from_R: Tensor | None) -> None:
    """What a step returned becomes the static state. from_R: the row that each one continues."""
    for part, new in _leaves("settle", static, after):
        if new is part and from_R is None:
            continue  # written in place, or not at all
        match part:
            case Tensor():
                if part.shape != new.shape:
                    raise NotStaticError(f"{tuple(part.shape)} became {tuple(new.shape)}")
                part.copy_(new if from_R is None else new.index_select(0, from_R))
            case _ if hasattr(part, "settle"):
                part.settle(new, from_R)


def _leaves(way: str, *states: Any) -> Iterator[tuple[Any, ...]]:
    """Of states that are built alike: tensors, what goes a way of its own, and what is plain, side by side."""
    first = states[0]
    if type(first) is tuple:
        for parts in zip(*states, strict=True):
            yield from _leaves(way, *parts)
    elif is_dataclass(first) and not hasattr(first, way):
        for f in fields(first):
            yield from _leaves(way, *(getattr(state, f.name) for state in states))
    else:
        yield states
