"""Work done ahead, on other threads, and given out in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _End:
    """What a source gives when nothing is left."""


def ahead(work: Callable[[T], R], items: Iterable[T], workers: int, depth: int = 4) -> Iterator[R]:
    """work(item) for each item, in order, whoever is ready first; `depth` results a worker wait to be taken.

    The items themselves are drawn on one more thread, one after the other. Without workers all is done when asked for.
    """
    if not workers:
        yield from map(work, items)
        return
    source, end = iter(items), _End()

    def worked(drawn: Future[T | _End]) -> R | _End:
        item = drawn.result()
        return item if isinstance(item, _End) else work(item)

    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as crew:

        def begin() -> Future[R | _End]:
            return crew.submit(worked, reader.submit(next, source, end))

        waiting = deque(begin() for _ in range(workers * depth))
        try:
            while not isinstance(result := waiting.popleft().result(), _End):
                waiting.append(begin())
                yield result
        finally:
            for future in waiting:
                future.cancel()
