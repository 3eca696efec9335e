"""The batches of a run, from any place on, made ready ahead."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from seqloom.data.ahead import ahead
from seqloom.data.cache import Examples
from seqloom.data.order import Order
from seqloom.settings import FailedError
from seqloom.tasks import Batch, Task
from seqloom.tasks.recut import seeds_of

MOST_EMPTY = 1000  # epochs: with weights below 1 an epoch of few examples may have none
TURN = 2e-4  # seconds

Spot = tuple[int, int, int]
"""An epoch, a pool of it, and the number of a batch in the pool."""
Numbered = tuple[Spot, float, Batch]
"""With a batch, how many epochs are over, the running one's share included."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Who trains and who makes batches take turns with Python's lock: its own 5 ms are as long as a GPU's step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def stream(task: Task, order: Order, seed: int, longest: int | None, workers: int, begin: Spot) -> Iterator[Numbered]:
    """Without end, from a batch on. longest: tokens that a side may have when its text is cut anew."""

    def made(item: tuple[Spot, float, Examples]) -> Numbered:
        spot, over, examples = item
        return spot, over, task.batch(task.vary(examples, seeds_of(examples, seed, spot[0]), longest))

    return ahead(made, _examples(order, begin), workers)


def _examples(order: Order, begin: Spot) -> Iterator[tuple[Spot, float, Examples]]:
    epoch, *place = begin
    empty = 0
    while empty <= MOST_EMPTY:
        empty += 1
        for pool, batch, over, examples in order.numbered(epoch, *place):
            empty = 0
            yield (epoch, pool, batch), epoch + over, examples
        epoch, place = epoch + 1, []
    raise FailedError("there is no example to train on")
