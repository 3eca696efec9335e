"""Recordings: what is done as it is, what is recorded, and what is mended where one breaks off. Without a GPU."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from seqloom.layers import recording
from seqloom.layers.recording import NotRecordedError, Recording, Tape


def test_without_a_gpu_all_work_is_done_as_it_is() -> None:
    done = list[int]()
    tape = Tape(torch.device("cpu"))
    one = Recording(lambda: done.append(1), tape)
    with tape.running():
        for _ in range(5):
            one.play()
    assert done == [1] * 5
    assert not tape.records


class FakeGraph:
    """Ends as it is told to."""

    breaks = False

    def __init__(self) -> None:
        self.told = list[str]()

    def capture_begin(self, **_: Any) -> None:
        self.told.append("begin")

    def capture_end(self) -> None:
        self.told.append("end")
        if self.breaks:
            raise RuntimeError("operation failed due to a previous error during capture")

    def replay(self) -> None:
        self.told.append("replay")


class FakeChance:
    def __init__(self, *_: Any) -> None:
        self.seed, self.state = 7, self

    def manual_seed(self, seed: int) -> None:
        self.seed = seed

    def initial_seed(self) -> int:
        return self.seed

    def graphsafe_set_state(self, other: "FakeChance") -> None:
        self.state = other


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], tuple[Tape, FakeChance]]:
    def make(breaks: bool) -> tuple[Tape, FakeChance]:
        chance = FakeChance()
        monkeypatch.setattr(FakeGraph, "breaks", breaks)
        for name, value in {
            "CUDAGraph": FakeGraph,
            "Stream": lambda device, priority=0: None,
            "graph_pool_handle": lambda: (0, 1),
            "mem_get_info": lambda device: (3, 4),
            "current_device": lambda: 0,
            "synchronize": lambda device: None,
            "default_generators": (chance,),
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch, "Generator", FakeChance)
        monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda *_: None, raising=False)
        monkeypatch.setattr(recording, "_never_waiting", nullcontext)
        return Tape(torch.device("cuda")), chance

    return make


def test_twice_as_it_is_then_recorded_then_played(faked: Callable[[bool], tuple[Tape, FakeChance]]) -> None:
    tape, chance = faked(False)
    done = list[int]()
    one = Recording(lambda: done.append(1), tape)
    for _ in range(5):
        one.play()
    assert len(done) == 3, "twice in earnest, once to be recorded"
    assert isinstance(one._graph, FakeGraph)
    assert one._graph.told == ["begin", "end", "replay", "replay", "replay"]
    assert tape.records
    assert chance.state is chance


@pytest.mark.parametrize("raises", [True, False])
def test_one_that_breaks_off_is_mended(faked: Callable[[bool], tuple[Tape, FakeChance]], raises: bool) -> None:
    """The first error is told; memory is handed out again, and chance begins anew from its seed."""
    tape, chance = faked(True)

    def work() -> None:
        if raises:
            raise RuntimeError("a kernel waits\nand more")

    with pytest.raises(NotRecordedError, match="^a kernel waits$" if raises else "previous error"):
        tape.record(work)
    assert not tape.records
    assert chance.state is not chance
    assert chance.state.seed == 7


def test_out_of_memory_ends_one_recording_only(faked: Callable[[bool], tuple[Tape, FakeChance]]) -> None:
    tape, chance = faked(False)

    def work() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        tape.record(work)
    assert tape.records
    assert chance.state is chance


class FakeStream:
    def __init__(self, device: torch.device | None = None, priority: int = 0) -> None:
        self.waited: list[FakeStream] = []

    def wait_stream(self, other: "FakeStream") -> None:
        self.waited.append(other)


def test_what_follows_an_error_waits_too(
    faked: Callable[[bool], tuple[Tape, FakeChance]], monkeypatch: pytest.MonkeyPatch
) -> None:
    faked(False)
    outside = FakeStream()
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: outside)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    tape = Tape(torch.device("cuda"))
    with pytest.raises(KeyError), tape.running(), tape.aside():
        raise KeyError
    assert tape.stream is not None
    assert outside.waited == [tape.stream]
    assert tape.stream.waited == [outside, tape._aside]
