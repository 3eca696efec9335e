"""Several threads write side by side, each its own share of the items.

Threads that share each product of a step wait for each other hundreds of times a step, and where others use the same
processor all of them wait for the slowest. Side by side none waits for another before the end.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

import torch

from seqloom.generation.ahead import Ahead
from seqloom.generation.contract import Item

LEAST = 32
"""Items of each: with fewer, threads that share a product are as fast, as weights are read once for all."""

T = TypeVar("T")


def hands(items: int) -> int:
    """How many are to write so many items: as many as torch may use threads, if there is enough for each."""
    return max(1, min(torch.get_num_threads(), items // LEAST))


class Dealt:
    """Items for several hands, dealt one by one, the longest first: each has as many of like length as the others,
    whoever is faster, so that the same items are always written together."""

    def __init__(self, items: Iterable[Item], window: int, count: int) -> None:
        self._ahead, self._lock = Ahead(items, window), threading.Lock()
        self._hands = [deque[Item]() for _ in range(count)]

    def take(self, hand: int, count: int) -> list[Item]:
        """Up to so many; fewer only behind the end."""
        with self._lock:
            mine, all_ = self._hands[hand], len(self._hands)
            while len(mine) < count and (new := self._ahead.take(count * all_)):
                for number, other in enumerate(self._hands):
                    other.extend(new[number::all_])
            return [mine.popleft() for _ in range(min(count, len(mine)))]


def side_by_side(works: Sequence[Callable[[], Iterator[T]]]) -> Iterator[T]:
    """What each of them makes, as it comes. Each works in a thread of its own, with its share of torch's threads.

    An error of one ends all. Whoever goes away waits until each has made the next thing.
    """
    total, made, stop = torch.get_num_threads(), SimpleQueue[T | _End](), threading.Event()
    begun = threading.Barrier(len(works) + 1)

    def work(make: Callable[[], Iterator[T]]) -> None:
        torch.get_num_threads()  # a thread takes over the number of all when it is first asked, and keeps its own then
        torch.set_num_threads(max(1, total // len(works)))
        fault = None
        try:
            begun.wait()
            for one in make():
                made.put(one)
                if stop.is_set() or not threading.main_thread().is_alive():
                    break
        except BaseException as error:  # whatever it is, who waits is to hear of it
            fault = error
        made.put(_End(fault))

    threads = list[threading.Thread]()
    try:
        for make in works:
            thread = threading.Thread(target=work, args=(make,), name="seqloom writes")
            thread.start()
            threads.append(thread)
        begun.wait()
        torch.set_num_threads(total)  # which threads that others begin later take over
        yield from _until_all_end(made, len(works))
    finally:
        stop.set()
        begun.abort()  # if not all of them could begin
        for thread in threads:
            thread.join()


class _End:
    """fault: what it ended with."""

    def __init__(self, fault: BaseException | None) -> None:
        self.fault = fault


def _until_all_end(made: "SimpleQueue[T | _End]", count: int) -> Iterator[T]:
    while count:
        one = made.get()
        if not isinstance(one, _End):
            yield one
        elif one.fault is not None:
            raise one.fault
        else:
            count -= 1
