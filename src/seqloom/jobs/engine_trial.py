"""Another engine writes what ours has written: whether it says the same, and whether it is faster."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from seqloom.generation.contract import Item, Written

TRIAL = 16
"""Items that both write at least."""

Answers = dict[int, list[Written]]
Write = Callable[[Sequence[Item]], Iterator[tuple[int, list[Written]]]]
"""An engine: items → their numbers and answers."""


@dataclass(frozen=True)
class Part:
    """Items that ours wrote together, and how long it took."""

    items: Sequence[Item]
    answers: Answers
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """faster: how many times as fast the other is. count: answers that were compared."""

    same: bool
    faster: float
    count: int


@dataclass
class Trial:
    """Of one kind of work: so many items at once. winner: None while nobody knows."""

    winner: Literal["own", "other"] | None = None
    parts: deque[Part] = field(default_factory=deque)

    @property
    def count(self) -> int:
        return sum(len(part.items) for part in self.parts)

    def ours(self, write: Write, items: Sequence[Item]) -> Part:
        """Written by ours, and kept for the comparison; of many small parts the last ones are."""
        began = perf_counter()
        part = Part(items, dict(write(items)), perf_counter() - began)
        self.parts.append(part)
        while self.count - len(self.parts[0].items) >= TRIAL:
            self.parts.popleft()
        return part

    def compared(self, other: Write) -> Verdict:
        """The other writes the same parts, after a first time, which is slower than others."""
        dict(other(self.parts[-1].items[:TRIAL]))
        same, seconds = True, 0.0
        for part in self.parts:
            began = perf_counter()
            found = dict(other(part.items))
            seconds += perf_counter() - began
            same = same and all(said(found[number]) == said(answers) for number, answers in part.answers.items())
        return Verdict(same, sum(part.seconds for part in self.parts) / max(seconds, 1e-9), self.count)


def said(answers: Sequence[Written]) -> list[tuple[tuple[int, ...], bool]]:
    return [(answer.tokens, answer.ended) for answer in answers]
