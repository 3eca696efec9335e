"""Several threads write side by side, each its own share of the items.

Threads that share each product of a step wait for each other hundreds of times a step, and where others use the same
processor all of them wait for the slowest. Side by side none waits for another before the end.
"""

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, TypeVar

import torch

from seqloom.generation.ahead import Ahead
from seqloom.generation.contract import Item

LEAST = 32
"""Items of each: with fewer, threads that share a product are as fast, as weights are read once for all."""
WAITING = 16  # times as many as a hand takes may wait for a slower one

T = TypeVar("T")
Take = Callable[[int], list[Item]]
"""Up to so many; fewer only behind the end."""


def hands(items: int) -> int:
    """How many are to write so many items: as many as torch may use threads, if there is enough for each."""
    threads = torch.get_num_threads()
    return threads if items >= LEAST * threads else 1


class Dealt:
    """Items for several hands, dealt one by one, the longest first: each has as many of like length as the others,
    whoever is faster, so that the same items are always written together."""

    def __init__(self, items: Iterable[Item], window: int, count: int) -> None:
        self._ahead = Ahead(items, window)
        self._hands = [deque[Item]() for _ in range(count)]

    def take(self, hand: int, count: int) -> list[Item] | None:
        """Up to so many; fewer only behind the end. None: not before a slower hand has taken some of its own."""
        mine = self._hands[hand]
        while len(mine) < count:
            if max(map(len, self._hands)) >= WAITING * count:
                return None
            new = self._ahead.take(count * len(self._hands))
            if not new:
                break
            for number, other in enumerate(self._hands):
                other.extend(new[number :: len(self._hands)])
        return [mine.popleft() for _ in range(min(count, len(mine)))]


def side_by_side(
    works: Sequence[Callable[[Take], Iterator[T]]], deal: Callable[[int, int], list[Item] | None]
) -> Iterator[T] | None:
    """What each of them makes, as it comes, each in a thread of its own. None: these are busy, or cannot be had.

    deal: what a hand, by its number, is given; it is asked in the thread of whoever reads what is made, and only while
    that one does. An error of one ends all. Whoever goes away waits until each has made the next thing.
    """
    job = _Job[T](len(works))
    crew = _Crew.begun(job, [partial(job.work, hand, work) for hand, work in enumerate(works)])
    return None if crew is None else _made(crew, job, deal)


def _made(crew: "_Crew", job: "_Job[T]", deal: Callable[[int, int], list[Item] | None]) -> Iterator[T]:
    try:
        yield from job.made_until_all_end(deal)
    finally:
        job.stop()
        if threading.current_thread() not in crew.threads:  # one of them may be the one that clears away
            job.ended.wait()


@dataclass(frozen=True)
class _Asks:
    hand: int
    count: int


@dataclass(frozen=True)
class _End:
    """fault: what it ended with."""

    fault: BaseException | None


class _StoppedError(Exception):
    """Nobody waits for it any more."""


class _Job(Generic[T]):
    def __init__(self, count: int) -> None:
        self._made = SimpleQueue[T | _Asks | _End]()
        self._given = [SimpleQueue[list[Item] | None]() for _ in range(count)]
        self._stopped, self.ended = False, threading.Event()
        self._at_work, self._lock = count, threading.Lock()

    def stop(self) -> None:
        self._stopped = True
        for given in self._given:
            given.put(None)

    def work(self, hand: int, work: Callable[[Take], Iterator[T]]) -> None:
        """In a thread of the crew's."""

        def take(count: int) -> list[Item]:
            self._made.put(_Asks(hand, count))
            given = self._given[hand].get()
            if given is None:
                raise _StoppedError
            return given

        fault: BaseException | None = None
        try:
            for one in work(take):
                self._made.put(one)
                if self._stopped:
                    break
        except _StoppedError:
            pass
        except BaseException as error:  # whatever it is, who waits is to hear of it
            fault = error
        self._made.put(_End(fault))
        with self._lock:
            self._at_work -= 1
            if not self._at_work:
                self.ended.set()

    def made_until_all_end(self, deal: Callable[[int, int], list[Item] | None]) -> Iterator[T]:
        left, asks = len(self._given), list[_Asks]()
        while left:
            one = self._made.get()
            if isinstance(one, _End):
                left -= 1
                if one.fault is not None:
                    raise one.fault
            elif isinstance(one, _Asks):
                asks = [each for each in (one, *asks) if not self._gives(each, deal)]
            else:
                yield one

    def _gives(self, asks: _Asks, deal: Callable[[int, int], list[Item] | None]) -> bool:
        given = deal(asks.hand, asks.count)
        if given is not None:
            self._given[asks.hand].put(given)
        return given is not None


class _Crew:
    """Threads that are kept, each with one of torch's. One job at a time: whoever comes meanwhile writes alone."""

    kept: "ClassVar[_Crew | None]" = None
    lock: ClassVar = threading.Lock()

    def __init__(self, count: int) -> None:
        self._work = SimpleQueue[Callable[[], None] | None]()
        self.job: _Job[Any] | None = None
        self.threads = [threading.Thread(target=self._serve, daemon=True, name="seqloom writes") for _ in range(count)]
        self._begun = threading.Barrier(count + 1)
        before = torch.get_num_threads()
        try:
            for thread in self.threads:
                thread.start()
            self._begun.wait()
        except BaseException:
            self._begun.abort()
            for thread in self.threads:
                if thread.ident is not None:  # it has begun, and may be about to set its number
                    thread.join()
            raise
        finally:
            torch.set_num_threads(before)  # which threads that others begin later take over

    def _serve(self) -> None:
        torch.get_num_threads()  # a thread takes over the number of all when it is first asked, and keeps its own then
        torch.set_num_threads(1)
        try:
            self._begun.wait()
        except threading.BrokenBarrierError:
            return
        while (work := self._work.get()) is not None:
            work()

    @classmethod
    def begun(cls, job: _Job[Any], works: Sequence[Callable[[], None]]) -> "_Crew | None":
        """Who does this; None: nobody can now."""
        with cls.lock:
            if cls.kept is not None and cls.kept.job is not None and not cls.kept.job.ended.is_set():
                return None
            if cls.kept is None or len(cls.kept.threads) != len(works):
                cls.dismiss()
                try:
                    cls.kept = cls(len(works))
                except RuntimeError:  # no more threads can be had
                    return None
            crew, cls.kept.job = cls.kept, job
            for work in works:
                crew._work.put(work)
            return crew

    @classmethod
    def dismiss(cls) -> None:
        crew, cls.kept = cls.kept, None
        if crew is not None:
            for _ in crew.threads:
                crew._work.put(None)


@atexit.register
def _at_end() -> None:
    """Who is in the middle of a step ends it before Python takes all away."""
    crew = _Crew.kept
    if crew is not None and crew.job is not None:
        crew.job.stop()
        crew.job.ended.wait()


def _in_child() -> None:
    """Threads do not come along."""
    _Crew.kept, _Crew.lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
