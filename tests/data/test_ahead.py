"""Work ahead: in order, all of it, with its errors."""

import threading
import time
from collections.abc import Iterator

import pytest

from seqloom.data.ahead import ahead


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_in_order_whoever_is_ready_first(workers: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3))
        return item * item

    assert list(ahead(work, range(40), workers)) == [item * item for item in range(40)]


@pytest.mark.parametrize("items", [0, 1, 3])
def test_few_items(items: int) -> None:
    assert list(ahead(str, range(items), 2)) == [str(item) for item in range(items)]


def test_an_error_comes_where_its_result_would() -> None:
    results = ahead(lambda item: 6 // item, [3, 2, 0, 1], 2)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_an_error_of_the_source() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    results = ahead(lambda item: item, source(), 2)
    assert next(results) == 1
    with pytest.raises(OSError, match="gone"):
        next(results)


def test_who_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    results = ahead(lambda item: item, iter(int, 1), 2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_little_is_done_ahead() -> None:
    drawn = []

    def source() -> Iterator[int]:
        for item in range(1000):
            drawn.append(item)
            yield item

    results = ahead(lambda item: item, source(), 2, depth=3)
    next(results)
    time.sleep(0.1)
    assert len(drawn) <= 2 * 3 + 1
    results.close()  # type: ignore[attr-defined]


def test_without_workers_it_is_done_when_asked_for() -> None:
    before = threading.active_count()
    drawn: list[int] = []
    results = ahead(lambda item: drawn.append(item) or item, range(5), 0)  # type: ignore[func-returns-value]
    assert next(results) == 0
    assert (drawn, threading.active_count()) == ([0], before)
    assert list(results) == [1, 2, 3, 4]
