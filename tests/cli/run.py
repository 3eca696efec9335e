"""Run the command line as a person does, but in this process."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
import termios
from dataclasses import dataclass
from unittest.mock import patch

from seqloom.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    error: str


def run(*arguments: str) -> Ran:
    out, error = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["seqloom", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Ran(code, out.getvalue(), error.getvalue())


def in_terminal(*arguments: str, columns: int, escapes: bool = False, **environment: str) -> list[str]:
    """The lines that a person sees whose terminal has so many columns. escapes: and what sets their style."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, columns))
    command = [sys.executable, "-m", "seqloom", *arguments]
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR", "TERM")}
    with subprocess.Popen(command, stdout=theirs, stdin=theirs, env=kept | {"TERM": "xterm"} | environment):
        os.close(theirs)
        said = b"".join(iter(lambda: _heard(ours), b""))
    os.close(ours)
    text = said.decode()
    return (text if escapes else re.sub(r"\x1b\[[0-9;]*m", "", text)).splitlines()


def _heard(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody writes into it any more
        return b""
