"""The batches of a run, from any place on, made ready ahead."""

from collections.abc import Iterator

from seqloom.data.ahead import ahead
from seqloom.data.cache import Examples
from seqloom.data.order import Order
from seqloom.settings import FailedError
from seqloom.tasks import Batch, Task
from seqloom.tasks.recut import seeds_of

MOST_EMPTY = 1000  # epochs: with weights below 1 an epoch of few examples may have none

Numbered = tuple[int, int, Batch]
"""An epoch, the number of a batch in it, and the batch."""


def stream(
    task: Task, order: Order, seed: int, longest: int | None, workers: int, epoch: int, batch: int
) -> Iterator[Numbered]:
    """Without end, from a batch of an epoch on. longest: tokens that a side may have when its text is cut anew."""

    def made(item: tuple[int, int, Examples]) -> Numbered:
        epoch, number, examples = item
        return epoch, number, task.batch(task.vary(examples, seeds_of(examples, seed, epoch), longest))

    return ahead(made, _examples(order, epoch, batch), workers)


def _examples(order: Order, epoch: int, begin: int) -> Iterator[tuple[int, int, Examples]]:
    empty = 0
    while True:
        number = begin - 1
        for number, examples in enumerate(order.epoch(epoch, begin), begin):
            yield epoch, number, examples
        empty = empty + 1 if number < 0 else 0
        if empty > MOST_EMPTY:
            raise FailedError("there is no example to train on")
        epoch, begin = epoch + 1, 0
