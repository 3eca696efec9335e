"""Work that a GPU does again and again: done once as it is, then recorded (a CUDA graph), then played.

A small kernel takes a GPU less time than it takes Python to ask for it; a recording asks once for all of a step.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar
from weakref import WeakSet

import torch


class NotRecordedError(Exception):
    """The work waits for the device, or torch cannot record it for some other reason."""


class Recording:
    """Some work. The first two times are as it is: kernels are made then, and nothing in it may wait for the device."""

    def __init__(self, work: Callable[[], None], tape: "Tape") -> None:
        self._work, self._tape = work, tape
        self._graph: torch.cuda.CUDAGraph | None = None
        self._times = 0

    def play(self) -> None:
        """Does the work once."""
        if self._graph is not None:
            self._graph.replay()
            return
        self._times += 1
        if not self._tape.records or self._times == 1:
            self._work()
        elif self._times == 2:
            with _never_waiting():
                self._work()
        else:
            self._graph = self._tape.record(self._work)
            self._graph.replay()


class Tape:
    """One stream and one memory for all recordings that belong together: they are played one after the other.

    Without a GPU, or with records = False, all work is done as it is.
    """

    mended: ClassVar[int] = 0
    """How often a recording broke off, of whatever tape: those made before have random numbers that nobody seeds."""

    def __init__(self, device: torch.device, records: bool = True) -> None:
        self.device = device
        self.records = records and device.type == "cuda"
        self.stream = torch.cuda.Stream(device) if self.records else None
        self._aside = torch.cuda.Stream(device, priority=-1) if self.records else None  # its little goes first
        self.broken = False
        """A recording broke off: nothing more is recorded."""
        self._pool = torch.cuda.graph_pool_handle() if self.records else None
        self._graphs = WeakSet[torch.cuda.CUDAGraph]()

    @contextmanager
    def running(self) -> Iterator[None]:
        """All that reads or writes what recordings work on goes in here; not to be left open while others work."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        try:
            with torch.cuda.stream(self.stream):
                yield
        finally:  # whoever clears up behind an error, too, comes after what was asked for
            torch.cuda.current_stream(self.device).wait_stream(self.stream)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """In `running`, for what reads only what stays as it is: it does not wait for what was asked for before.

        What is asked for behind it waits for it.
        """
        if self.stream is None or self._aside is None:
            yield
            return
        try:
            with torch.cuda.stream(self._aside):
                yield
        finally:
            self.stream.wait_stream(self._aside)

    def record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """To be called on its stream. Nothing of the work is done yet: the recording does it when it is played.

        A NotRecordedError, if it cannot be: then nothing more should be recorded. An OutOfMemoryError ends this alone.
        """
        free, whole = torch.cuda.mem_get_info(self.device)
        if free < whole / 2:
            torch.cuda.empty_cache()  # a recording has memory of its own, and cannot take what lies idle
        if not self._graphs:
            self._pool = torch.cuda.graph_pool_handle()  # torch refuses a memory whose last recording is gone
        graph = torch.cuda.CUDAGraph()
        try:
            # other threads may go on meanwhile: they make texts and batches ready
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            work()
        except BaseException as error:
            with suppress(RuntimeError):
                self._end(graph)
            if isinstance(error, RuntimeError) and not isinstance(error, torch.OutOfMemoryError):
                raise NotRecordedError(_first_line(error)) from error
            raise
        try:
            self._end(graph)
        except RuntimeError as error:
            raise NotRecordedError(_first_line(error)) from error
        self._graphs.add(graph)
        return graph

    def _end(self, graph: torch.cuda.CUDAGraph) -> None:
        """What was begun is ended. If it was broken off, torch believes in part that it still goes on: that is mended,
        so that memory and random numbers are handed out as before."""
        try:
            graph.capture_end()
        except RuntimeError:
            self.records, self.broken = False, True
            device = torch.cuda.current_device()
            assert self._pool is not None
            with suppress(RuntimeError, AttributeError):  # this torch may have done it by itself
                torch._C._cuda_endAllocateToPool(device, self._pool)
            self._pool = torch.cuda.graph_pool_handle()
            chance = torch.cuda.default_generators[device]
            fresh = torch.Generator(torch.device("cuda", device))
            fresh.manual_seed(chance.initial_seed())
            chance.graphsafe_set_state(fresh)
            Tape.mended += 1
            torch.cuda.synchronize(device)
            raise


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def _never_waiting() -> Iterator[None]:
    """What waits for the device raises an error: found before a recording breaks off because of it."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that not everything is found
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise NotRecordedError(_first_line(error)) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode(before)
