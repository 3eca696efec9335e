"""What a terminal writes of Ctrl-C, which would push a picture that is drawn over itself one line down."""

import os
from contextlib import suppress
from typing import Any, TextIO

try:
    import termios
except ImportError:  # where there are no such terminals
    termios = None  # type: ignore[assignment]

_FLAGS = 3  # of what tcgetattr lists: the local modes


class KeyEcho:
    """Without the ^C of a key, from `hide` to `show`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._before: list[Any] | None = None

    def hide(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            before = self._modes()
            if before is not None and before[_FLAGS] & termios.ECHOCTL:
                self._set([*before[:_FLAGS], before[_FLAGS] & ~termios.ECHOCTL, *before[_FLAGS + 1 :]])
                self._before = before

    def show(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            with suppress(OSError, ValueError):
                if self._modes() is not None:
                    self._set(before)

    def _modes(self) -> list[Any] | None:
        """None: it is not ours to change now; a process in the background would be stopped for trying."""
        if termios is None:
            return None
        terminal = self._stream.fileno()
        if os.tcgetpgrp(terminal) != os.getpgrp():
            return None
        try:
            return termios.tcgetattr(terminal)
        except termios.error:
            return None

    def _set(self, modes: list[Any]) -> None:
        with suppress(termios.error):
            termios.tcsetattr(self._stream.fileno(), termios.TCSADRAIN, modes)
