"""Our kernels for a GPU, as far as they can be asked without one."""

import sys
from collections.abc import Iterator
from threading import Event
from types import ModuleType

import pytest

from seqloom.layers import kernels


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Of a Triton that reads its files, somewhere else than here."""
    read = Event()
    names = "triton", "triton.runtime", "triton.runtime.cache"
    made = {name: ModuleType(name) for name in names}
    made["triton.runtime.cache"].triton_key = read.set  # type: ignore[attr-defined]
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    kernels.make_ready.cache_clear()
    yield read
    kernels.make_ready.cache_clear()


def test_triton_reads_its_files_ahead(asked: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "has_triton", lambda: True)
    kernels.make_ready()
    assert asked.wait(10)


def test_nobody_asks_it_without_a_gpu(asked: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "has_triton", lambda: False)
    kernels.make_ready()
    assert not asked.wait(0.05)


def test_another_triton_is_asked_nothing(asked: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["triton.runtime.cache"], "triton_key")
    kernels._read_triton()
