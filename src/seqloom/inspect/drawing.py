"""A model as boxes and edges, and how to find what each box made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor, nn

from seqloom.inspect.seen import Seen
from seqloom.inspect.sentences import SENTENCES
from seqloom.inspect.values import Value

EdgeKind = Literal["flow", "residual", "memory"]
Side = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Box:
    """id: the name of a module, or such a name and what is made there. of: the box that this one is a step within."""

    id: str
    kind: str
    title: str
    group: str
    parameters: int
    settings: Mapping[str, Any]
    sentence: str
    of: str | None = None


@dataclass(frozen=True)
class Group:
    id: str
    title: str
    boxes: tuple[str, ...]
    side: Side | None


Values = Callable[[Seen], Sequence[Value]]


@dataclass(frozen=True)
class Spot:
    """A box that others read, and the values that it made; the last of them is what they read."""

    id: str
    values: Values

    def made(self, seen: Seen) -> Tensor:
        return self.values(seen)[-1].matrix


@dataclass(frozen=True)
class Flow:
    """edges: from, to, kind. values: what a box made, of what was seen while the model ran."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[str, str, EdgeKind], ...]
    groups: tuple[Group, ...]
    values: Mapping[str, Values] = field(repr=False, compare=False, default_factory=dict)

    def box(self, id: str) -> Box | None:
        return next((box for box in self.boxes if box.id == id), None)


class Drawing:
    """What is drawn so far; boxes go into the group that was opened last."""

    def __init__(self, structured: bool = False) -> None:
        """structured: edges say who sees whom."""
        self.structured = structured
        self.boxes: list[Box] = []
        self.edges: list[tuple[str, str, EdgeKind]] = []
        self.groups: list[tuple[str, str, Side | None]] = []
        self.values: dict[str, Values] = {}

    def group(self, id: str, title: str, side: Side | None) -> None:
        self.groups.append((id, title, side))

    def add(
        self,
        id: str,
        kind: str,
        title: str,
        reads: Sequence[Spot],
        values: Callable[[Seen], Iterable[Value]],
        *,
        parameters: int = 0,
        settings: Mapping[str, Any] | None = None,
        sentence: str | None = None,
        of: str | None = None,
        residual: Spot | None = None,
        memory: Spot | None = None,
    ) -> Spot:
        """values: what it made; the last of them is what others read. residual, memory: what it reads besides, over
        edges of these kinds.
        """
        sentence = SENTENCES[kind] if sentence is None else sentence
        group = self.groups[-1][0]
        self.boxes.append(Box(id, kind, title, group, parameters, dict(settings or {}), sentence, of))
        self.edges += [(one.id, id, "flow") for one in reads]
        self.edges += [] if residual is None else [(residual.id, id, "residual")]
        self.edges += [] if memory is None else [(memory.id, id, "memory")]
        self.values[id] = _once(id, values)
        return Spot(id, self.values[id])

    def flow(self) -> Flow:
        groups = (
            Group(id, title, tuple(box.id for box in self.boxes if box.group == id), side)
            for id, title, side in self.groups
        )
        drawn = tuple(group for group in groups if group.boxes)
        return Flow(tuple(self.boxes), tuple(self.edges), drawn, dict(self.values))


def _once(id: str, values: Callable[[Seen], Iterable[Value]]) -> Values:
    """Others read it too: it is made the first time."""

    def kept(seen: Seen) -> Sequence[Value]:
        if id not in seen.values:
            seen.values[id] = list(values(seen))
        return seen.values[id]

    return kept


def count(*modules: nn.Module | None) -> int:
    """Parameters; those that are shared within count once."""
    every = {id(one): one.numel() for module in modules if module is not None for one in module.parameters()}
    return sum(every.values())
