"""A compared system at work in a process of its own: its memory is its own, and what kills it harms no other."""

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from seqloom.jobs.comparing.worker import STOPPED, Work
from seqloom.settings import FailedError

_PROGRAM = f"""
import os, signal
signal.signal(signal.SIGINT, lambda *_: os._exit({STOPPED}))  # imports take seconds, and there is nothing to keep yet
from seqloom.jobs.comparing.worker import main
main()
"""


def work_apart(work: Work) -> None:
    """Until it is done. FailedError says why it failed; KeyboardInterrupt: it was stopped, and can be gone on with."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": _path()},
        # Ctrl-C in a terminal is for us alone, and is passed on once: a second one would break off a checkpoint
        process_group=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, suppress(BrokenPipeError):
        with suppress(BrokenPipeError):  # it is gone already, and its exit code tells
            pickle.dump(work, process.stdin)
            process.stdin.flush()
        why, stopped = _answer(process)
    if stopped or process.returncode == STOPPED:
        raise KeyboardInterrupt
    if process.returncode or why:
        raise FailedError(why or _how(process.returncode))


def _answer(process: "subprocess.Popen[bytes]") -> tuple[str, bool]:
    """What it said at its end, and whether we were asked to stop meanwhile."""
    assert process.stdout is not None
    said, stopped = b"", False
    while True:
        try:
            said += process.stdout.read()
            process.wait()
            return said.decode(errors="replace"), stopped
        except KeyboardInterrupt:
            stopped = True
            process.send_signal(signal.SIGINT)


def _how(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was killed (signal 9): was the memory enough? Set training.batch or the model smaller"
    how = f"ended by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    return f"{how}; the same command tries it again, from its last checkpoint if it has one"


def _path() -> str:
    """The same modules as here, but none of the folder that a notebook happens to be in."""
    return os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parents[3])])
