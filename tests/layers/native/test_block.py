"""What C is told of a decoder's blocks."""

import threading
from contextlib import suppress

import pytest

from seqloom.layers.native import block


def test_the_form_of_products_stays_when_threads_ask_for_it_first_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C keeps its address: each that was told must be that of a form which lives."""
    monkeypatch.setattr(block, "_only", {})
    both, told = threading.Barrier(2), list[int]()

    def sgemm() -> int:
        with suppress(threading.BrokenBarrierError):  # it may also be that one of them waits for the other
            both.wait(1)
        return 1

    monkeypatch.setattr(block, "_sgemm", sgemm)
    threads = [threading.Thread(target=lambda: told.append(block.products())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [block.products()] * 2
