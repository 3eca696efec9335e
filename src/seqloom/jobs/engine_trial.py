"""Another engine writes what ours has written: whether it says the same, and whether it is faster."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from seqloom.generation.contract import Item, Written

TRIAL = 16
"""Items that both write at least."""
UNCLEAR = 0.9  # times as fast: what is slower than that will not win at a second look

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

    def compared(self, ours: Write, other: Write, timed: bool = True) -> Verdict:
        """The other writes the same parts. timed: unless it was clearly slower, both write them again, by turns; the
        better time of each counts: a first time is slower than others, and when ours had its own, the machine may have
        been busy, or still compiling."""
        dict(other(self.parts[-1].items[:TRIAL]))
        own = sum(part.seconds for part in self.parts)
        same, seconds = self._written(other)
        if timed and same and own / seconds > UNCLEAR:
            own = min(own, self._written(ours)[1])
            seconds = min(seconds, self._written(other)[1])
        return Verdict(same, own / seconds, self.count)

    def _written(self, engine: Write) -> tuple[bool, float]:
        """Whether an engine says the same, and in how many seconds."""
        began = perf_counter()
        found = [dict(engine(part.items)) for part in self.parts]
        seconds = max(perf_counter() - began, 1e-9)
        return all(_same(part.answers, one) for part, one in zip(self.parts, found, strict=True)), seconds


def _same(ours: Answers, others: Answers) -> bool:
    """Token by token; scores differ in their last digits."""
    return _tokens(ours) == _tokens(others)


def _tokens(answers: Answers) -> dict[int, list[tuple[tuple[int, ...], bool]]]:
    return {number: [(one.tokens, one.ended) for one in written] for number, written in answers.items()}
