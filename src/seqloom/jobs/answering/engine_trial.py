"""Another engine writes what ours has written: whether it says the same, and whether it is faster."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Literal, NamedTuple, TypeVar

from seqloom.generation.contract import Item, Written

TRIAL = 16
"""Items that both write at least."""
UNCLEAR = 0.9  # times as fast: what is slower than that will not win at a second look

Answers = dict[int, list[Written]]
Write = Callable[[Sequence[Item]], Iterator[tuple[int, list[Written]]]]
"""An engine: items → their numbers and answers."""


class Taken(NamedTuple):
    """Seconds, by the clock and of the processor: on a machine that others use, the clock alone tells little."""

    clock: float
    worked: float

    def better(self, other: "Taken") -> "Taken":
        return Taken(*map(min, self, other))


@dataclass(frozen=True)
class Part:
    """Items that ours wrote together, and how long it took: a first time, which counts for nothing but an estimate."""

    items: Sequence[Item]
    answers: Answers
    taken: Taken


@dataclass(frozen=True)
class Verdict:
    """faster: how many times as fast the other is; lighter: how many times as few seconds of the processor it needs.
    count: answers that were compared."""

    same: bool
    faster: float
    lighter: float
    count: int


@dataclass
class Trial:
    """Of one kind of work: so many items at once. winner: None while nobody knows."""

    winner: Literal["own", "other"] | None = None
    parts: deque[Part] = field(default_factory=deque)
    each: float | None = None
    """Seconds that an item of the last part took ours."""

    @property
    def count(self) -> int:
        return sum(len(part.items) for part in self.parts)

    def ours(self, write: Write, items: Sequence[Item]) -> Part:
        """Written by ours, and kept for the comparison; of many small parts the last ones are."""
        answers, taken = _timed(lambda: dict(write(items)))
        part, self.each = Part(items, answers, taken), taken.clock / len(items)
        self.parts.append(part)
        while self.count - len(self.parts[0].items) >= TRIAL:
            self.parts.popleft()
        return part

    def compared(self, ours: Write, other: Write, timed: bool = True, must_agree: bool = True) -> Verdict:
        """The other writes the same parts. must_agree: who says something else need not be timed.

        timed: ours writes them again, too: when it had its own, the machine may have been busy, or still compiling.
        Unless the other was clearly slower, both write them once more, by turns, and the better time of each counts.
        """
        dict(other(self.parts[-1].items[:TRIAL]))  # a first time is slower than others
        same, theirs = self._written(other)
        if not timed or not (same or not must_agree):
            return Verdict(same, 0.0, 0.0, self.count)
        own = self._written(ours)[1]
        if own.clock / theirs.clock > UNCLEAR:
            theirs = theirs.better(self._written(other)[1])
            own = own.better(self._written(ours)[1])
        return Verdict(same, own.clock / theirs.clock, own.worked / theirs.worked, self.count)

    def _written(self, engine: Write) -> tuple[bool, Taken]:
        """Whether an engine says the same, and how long it takes."""
        found, taken = _timed(lambda: [dict(engine(part.items)) for part in self.parts])
        return all(_same(part.answers, one) for part, one in zip(self.parts, found, strict=True)), taken


T = TypeVar("T")


def _timed(work: Callable[[], T]) -> tuple[T, Taken]:
    clock, worked = perf_counter(), process_time()
    done = work()
    return done, Taken(max(perf_counter() - clock, 1e-9), max(process_time() - worked, 1e-9))


def _same(ours: Answers, others: Answers) -> bool:
    """Token by token; scores differ in their last digits."""
    return _tokens(ours) == _tokens(others)


def _tokens(answers: Answers) -> dict[int, list[tuple[tuple[int, ...], bool]]]:
    return {number: [(one.tokens, one.ended) for one in written] for number, written in answers.items()}
