"""Encoding on all cores: processes that hold an encoder each.

Threads would take turns, as encoders look words up in Python. The processes are plain programs with a pipe in and a
pipe out: unlike those of multiprocessing they never run the user's script again, so that a script without a guard, a
notebook or a program from standard input can start them; and they load no torch.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Self, TypeVar

from seqloom.data.ahead import ahead
from seqloom.data.encoding import Encoder, Fields
from seqloom.data.ragged import Ragged
from seqloom.settings import FailedError

MOST = 8  # one process reads and writes for all: more than that would wait for it
_PROGRAM = "from seqloom.data.encoding_worker import main; main()"

T = TypeVar("T")
Encoded = Generator[tuple[T, Mapping[str, Ragged]], None, None]


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_start() -> bool:
    """Not in a program that was frozen into one file: there is no Python to start."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class Worker:
    """One process."""

    def __init__(self, encoder: bytes) -> None:
        """encoder: pickled."""
        self.encoder: bytes | None = encoder
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            # Ctrl-C in a terminal is for us alone: this process ends when we close its pipe
            process_group=0,
        )

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            if self.encoder is not None:
                self.process.stdin.write(self.encoder)
                self.encoder = None
            pickle.dump(fields, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            good, answer = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise FailedError(
                f"a process that encodes examples ended ({_how(self.process)}); is memory short? "
                "The same command begins to encode again"
            ) from None
        if not good:
            raise answer
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # the answer that it may be writing finds no reader, and a pipe that is gone need not be flushed
        self.process.stdout.close()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def encode_all(encoder: Encoder, items: Iterable[tuple[T, Fields]], workers: int) -> Encoded[T]:
    """Each item with its fields encoded, in order; a few are under way at a time. workers: processes; 0: none."""
    if not workers:
        yield from ahead(lambda item: (item[0], encoder(item[1])), items, workers=1)
        return
    pickled = pickle.dumps(encoder, pickle.HIGHEST_PROTOCOL)
    with ExitStack() as crew:
        idle: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(workers):
            idle.put(crew.enter_context(Worker(pickled)))

        def work(item: tuple[T, Fields]) -> tuple[T, Mapping[str, Ragged]]:
            worker = idle.get()  # as many threads as workers: there is one
            try:
                return item[0], worker(item[1])
            finally:
                idle.put(worker)

        yield from ahead(work, items, workers, depth=2)


def _environment() -> dict[str, str]:
    """The same modules as here, but none of the folder that a notebook happens to be in: `queue.py` may lie there.

    One thread each, as there is a process a core.
    """
    path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[2])])
    return os.environ | {"PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false", "OPENBLAS_NUM_THREADS": "1"}


def _how(process: "subprocess.Popen[bytes]") -> str:
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
    code = process.returncode
    return "stuck" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
