"""Space for kernels: kept from call to call, but not more than a little."""

import threading

import pytest

from seqloom.layers.native import scratch as space
from seqloom.layers.native.scratch import scratch


def test_it_is_kept_and_grows() -> None:
    first = scratch("test", 10)
    assert scratch("test", 5).data_ptr() == first.data_ptr()
    assert len(scratch("test", 100)) == 100
    assert scratch("other", 5).data_ptr() != scratch("test", 5).data_ptr()


def test_each_thread_has_its_own() -> None:
    mine, theirs = scratch("test", 10), list[int]()
    thread = threading.Thread(target=lambda: theirs.append(scratch("test", 10).data_ptr()))
    thread.start()
    thread.join()
    assert theirs != [mine.data_ptr()]


def test_much_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "KEPT", 1000)
    kept = scratch("much", 500)
    assert len(scratch("much", 2000)) == 2000
    assert scratch("much", 500).data_ptr() == kept.data_ptr()
