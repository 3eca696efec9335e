"""The contract of every sequence layer: let each position read other positions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from seqloom.layers.cohorts import Room
from seqloom.layers.layout import Layout, Packed, Padded

S = TypeVar("S")

State = Any
"""A frozen dataclass of batch-first tensors (nested dataclasses and tuples are fine); see `reorder` and `join`."""


@dataclass(frozen=True)
class Memory:
    """What an encoder leaves for a decoder: one vector a source position, in the form that its layout says."""

    states: Tensor
    layout: Layout
    ends: tuple[State, ...] = ()  # what each block's mixer left at its end; None where it left nothing
    unpadded: "Memory | None" = None  # the same without padding, for who projects it: that is less work
    embedded: Tensor | None = None  # what the encoder read, for those who look at it too

    def padded(self) -> "Memory":
        """The same memory, flush left and padded, so that its rows can be reordered."""
        layout = self.layout
        if isinstance(layout, Padded) and layout.starts_B is None:
            return self
        flush = Padded(layout.lengths_B, layout.longest, full=layout.uniform)
        unpadded = self if isinstance(layout, Packed) else None
        embedded = None if self.embedded is None else layout.pad(self.embedded)
        return Memory(layout.pad(self.states), flush, self.ends, unpadded, embedded)

    def beside(self, block: int) -> "Memory":
        """The same memory for a decoder's block: of all ends, that of the encoder's same block."""
        return replace(self, ends=self.ends[block : block + 1]) if self.ends else self


class Mixer(nn.Module):
    """Let each position read other positions.

    causal      y[t] sees x[..t] only; given a state, the returned state continues the sequence exactly
    non-causal  y[t] sees all of x; there is no state (a recurrence that goes one way returns where it ended, and an
                encoder leaves that to a decoder that begins there)

    Called without a state, a mixer reads whole sequences and returns no state: the way to train. To go on after the
    last position, ask `start` for the state before the first one and pass each returned state to the next call.

    A static state (`capacity` given) keeps one shape from step to step; its buffers are written in place behind
    each row's end, so that of two continuations of one static state only the later is valid.
    """

    causal: bool
    needs_memory: bool = False  # True: cannot run without the state that `start` makes from a memory
    stepwise: bool = False  # True: long sequences are gone through step by step, with kernels for each
    anchor: Tensor  # where the module lives and in which precision, also when it has no parameters

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("anchor", torch.empty(0), persistent=False)

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> State:
        """The state before the first step. A memory is projected here, once.

        capacity: the most steps that will ever be asked for; the state then has this static size.
        """
        raise NotImplementedError

    def begin(self, rows: int, memory: Memory | None = None) -> State:
        """What whole sequences need instead: nothing, or what is made from a memory. It is not for stepping."""
        return self.start(rows, memory) if self.needs_memory else None

    def forward(self, x: Tensor, layout: Layout, state: State | None = None) -> tuple[Tensor, State | None]:
        raise NotImplementedError


def reorder(state: S, rows: Tensor) -> S:
    """The state in which row i is what row rows[i] was: for beams that fork, and rows that leave."""
    return _changed(state, lambda x: x.index_select(0, rows), "reorder", rows)


def fork(state: S, rows: Tensor) -> S:
    """As `reorder`, for a state that was fanned out, where every row stays with those that it shares a memory with."""
    return _changed(state, lambda x: x.index_select(0, rows), "fork", rows)


def fan_out(state: S, times: int) -> S:
    """Each row so many times, one after the other. A memory is not copied: the rows share it.

    From then on rows may be forked, and whole groups of so many reordered.
    """
    return _changed(state, lambda x: x.repeat_interleave(times, 0), "fan_out", times)


def roomy(state: S, steps: int, sizes: tuple[int, ...] = ()) -> S:
    """The state with buffers that grow by so many steps at a time and are written in place, as static ones are.

    Of two continuations only the later is valid then. sizes: so many rows after each other have memories of like
    length.
    """
    return _changed(state, lambda x: x, "roomy", Room(steps, sizes))


def _changed(state: S, change: Callable[[Tensor], Tensor], own: str, given: Any) -> S:
    """All its tensors changed; a dataclass with a method of the name `own` does it itself."""
    match state:
        case Tensor():
            return change(state)  # type: ignore[return-value]
        case tuple() if type(state) is tuple:
            return tuple(_changed(part, change, own, given) for part in state)  # type: ignore[return-value]
        case Packed():
            raise TypeError("a packed memory has no rows to reorder; begin from memory.padded()")
        case _ if is_dataclass(state) and not isinstance(state, type):
            if hasattr(state, own):
                return getattr(state, own)(given)
            changed = {f.name: _changed(getattr(state, f.name), change, own, given) for f in fields(state)}
            return replace(state, **changed)
        case None | bool() | int() | float() | str():
            return state
        case _:
            raise TypeError(
                f"a state is made of dataclasses, tuples and tensors; it cannot hold a {type(state).__name__}"
            )


def detached(state: S) -> S:
    """The same numbers, through which no gradient goes back."""
    return _changed(state, Tensor.detach, "detached", None)


def tensors_of(state: State) -> list[Tensor]:
    """All its tensors, in their order; `filled` puts them back."""
    found: list[Tensor] = []

    def take(x: Tensor) -> Tensor:
        found.append(x)
        return x

    _changed(state, take, "tensors_of", None)
    return found


def filled(state: S, tensors: Sequence[Tensor]) -> S:
    """A state like this one, of these tensors."""
    has = len(tensors_of(state))
    if has != len(tensors):
        raise ValueError(f"{len(tensors)} tensors, but the state has {has}")
    parts = iter(tensors)
    return _changed(state, lambda x: next(parts).to(x), "filled", None)


def join(states: Sequence[S]) -> S:
    """The rows of several states under each other: for sequences that begin while others are being written.

    A dataclass whose tensors are not all of one width has a class method `join` of its own.
    """
    first = states[0]
    if any(type(state) is not type(first) for state in states):
        raise TypeError(f"states of one kind can be joined, not {' and '.join(type(s).__name__ for s in states)}")
    match first:
        case Tensor():
            return torch.cat(list(states))  # type: ignore[arg-type, return-value]
        case tuple() if type(first) is tuple:
            return tuple(join(parts) for parts in zip(*states, strict=True))  # type: ignore[return-value]
        case Packed():
            raise TypeError("packed memories have no rows to join; begin from memory.padded()")
        case _ if is_dataclass(first) and not isinstance(first, type):
            if hasattr(first, "join"):
                return type(first).join(states)
            return replace(first, **{f.name: join([getattr(state, f.name) for state in states]) for f in fields(first)})
        case None | bool() | int() | float() | str():
            if any(state != first for state in states):
                raise ValueError(f"states cannot be joined: one says {first!r}, another something else")
            return first
        case _:
            raise TypeError(
                f"a state is made of dataclasses, tuples and tensors; it cannot hold a {type(first).__name__}"
            )


def no_state(mixer: nn.Module, state: State | None) -> None:
    """What sees the whole sequence cannot go on behind its end."""
    if state is not None:
        raise ValueError(f"this {type(mixer).__name__} is not causal: it reads whole sequences and has no state")


def no_structure(mixer: nn.Module, layout: Layout) -> None:
    """A structure says which steps see which; only self-attention can obey it."""
    if layout.structure_BTT is not None or layout.edges is not None:
        raise ValueError(f"{type(mixer).__name__} cannot obey a structure of who sees whom; only attention can")
