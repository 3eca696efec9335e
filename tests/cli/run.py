"""Run the command line as a person does, but in this process."""

import contextlib
import io
import sys
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
