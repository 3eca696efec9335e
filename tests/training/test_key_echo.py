"""Ctrl-C in a terminal that shows the live panel."""

import fcntl
import os
import pty
import subprocess
import sys
import termios

import pytest

from seqloom.training.key_echo import KeyEcho

PROGRAM = """
import signal, sys
from seqloom.training.watch import Facts, Watcher

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
with Watcher(stream=sys.stderr) as watcher:
    watcher.began(Facts("run", steps=9))
    print("ready", flush=True)
    signal.sigwait({signal.SIGINT})
print("stopped", flush=True)
sys.stdin.readline()
"""


def _until(terminal: int, word: bytes) -> bytes:
    said = b""
    while word not in said:
        said += os.read(terminal, 1 << 16)
    return said


def test_it_writes_nothing_into_the_picture() -> None:
    """And what keys write is behind it as it was before."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    assert before[3] & termios.ECHOCTL
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as child:
        _until(ours, b"ready")
        os.write(ours, b"\x03")
        said = _until(ours, b"stopped")
        after = termios.tcgetattr(theirs)
        os.write(ours, b"\n")
        child.wait()
    os.close(ours)
    os.close(theirs)
    assert b"^C" not in said
    assert after == before


@pytest.mark.parametrize("front", [True, False])
def test_a_process_in_the_background_changes_nothing(front: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be stopped."""
    ours, theirs = pty.openpty()
    monkeypatch.setattr(os, "tcgetpgrp", lambda terminal: os.getpgrp() + (not front))
    with os.fdopen(theirs, "w") as stream:
        echo = KeyEcho(stream)
        echo.hide()
        assert bool(termios.tcgetattr(stream)[3] & termios.ECHOCTL) is not front
        echo.show()
        assert termios.tcgetattr(stream)[3] & termios.ECHOCTL
    os.close(ours)
