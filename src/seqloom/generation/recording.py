"""Work that a GPU does again and again: done once as it is, then recorded (a CUDA graph), then played.

A small kernel takes a GPU less time than it takes Python to ask for it; a recording asks once for all of a step.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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

    def __init__(self, device: torch.device, records: bool = True) -> None:
        self.device = device
        self.records = records and device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if self.records else None
        self._pool = torch.cuda.graph_pool_handle() if self.records else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """All that reads or writes what recordings work on goes in here; not to be left open while others work."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._stream):
            yield
        torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """A NotRecordedError, if it cannot be: nothing more should be recorded then."""
        torch.cuda.synchronize(self.device)
        torch.cuda.empty_cache()  # a recording has memory of its own, and cannot take what lies idle
        graph = torch.cuda.CUDAGraph()
        try:
            # other threads may go on meanwhile: they make texts ready
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            work()
        except RuntimeError as error:  # which memory that runs out is, too
            self._break_off(graph)
            raise NotRecordedError(str(error).strip().splitlines()[0]) from error
        except BaseException:
            self._break_off(graph)
            raise
        graph.capture_end()
        return graph

    def _break_off(self, graph: torch.cuda.CUDAGraph) -> None:
        """What was begun is ended, so that memory is handed out as before; why it failed is told by the first error."""
        try:
            graph.capture_end()
        except RuntimeError:
            assert self._pool is not None
            with suppress(RuntimeError, AttributeError):  # it had been ended, or this torch does it by itself
                torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), self._pool)
        with suppress(RuntimeError, AttributeError):  # chance, too, may believe that it is being recorded
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())
        self.records = False
        self._pool = torch.cuda.graph_pool_handle()
        torch.cuda.synchronize(self.device)


@contextmanager
def _never_waiting() -> Iterator[None]:
    """What waits for the device raises an error: found before a recording breaks off because of it."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that not everything is found
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    except RuntimeError as error:
        raise NotRecordedError(str(error).strip().splitlines()[0]) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode(before)
