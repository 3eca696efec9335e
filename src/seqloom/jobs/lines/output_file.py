"""A file of answers that goes on where it was stopped, even in the middle of a line.

FILE.part holds the answers so far. FILE.part.json says how many lines of input they answer, how long FILE.part was
then, and what was asked: what lies behind that length is cut off, and the lines behind it are answered again.
FILE.done.json says the same of a FILE that is whole, so that the same command again has nothing to do.
"""

import fcntl
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from seqloom.data.file_format import compression
from seqloom.jobs.lines.output_note import OutputNote, read_note
from seqloom.settings import FailedError, UserError
from seqloom.settings.words import counted
from seqloom.store.atomic import reported, to_disk
from seqloom.store.run import NO_LOCKS

EVERY = 1.0  # seconds between two notes of how far it is


class Output(Protocol):
    """Where answers go."""

    def write(self, text: str) -> None: ...

    def keep(self, lines: int, digest: str, counts: Mapping[str, int]) -> None:
        """What was written answers so many lines of input, of this digest."""


class Screen:
    """Standard output: nothing can be gone on with."""

    def write(self, text: str) -> None:
        raw = getattr(sys.stdout, "buffer", None)
        try:
            if raw is None:
                sys.stdout.write(text)
            else:
                raw.write(text.encode())  # in UTF-8, whatever the terminal was set to
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FailedError(f"standard output: cannot be written: {error.strerror or error}") from None

    def keep(self, lines: int, digest: str, counts: Mapping[str, int]) -> None: ...


class OutputFile:
    """asked: what the answers depend on, besides the input; compared when it goes on."""

    def __init__(self, path: Path, asked: Mapping[str, Any], force: bool = False) -> None:
        _refuse_places(path)
        self.path, self.asked = path, dict(asked)
        self.part = path.with_name(f"{path.name}.part")
        self.note = path.with_name(f"{path.name}.part.json")
        self.lines, self.digest, self.counts, self._size = 0, "", dict[str, int](), 0
        before = None if force else self._before()
        if before is None and path.exists() and not force:
            raise UserError(f"{path}: exists already; name another --out, or write over it with --force")
        if before is None and not force and self.part.exists() and self.part.stat().st_size:
            raise UserError(
                f"{self.part}: lies there, but no {self.note.name} says what it is; "
                "move it away, or write over it with --force"
            )
        with reported(self.part):
            self._file = self.part.open("ab")
        try:
            self._begin(before)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, before: OutputNote | None) -> None:
        self._lock()
        if before is not None:
            self.lines, self.digest, self.counts = before.lines, before.input, before.counts
            self._size = before.bytes
            if self.part.stat().st_size < self._size:
                raise UserError(f"{self.part}: is shorter than it was; put it back, or start anew with --force")
        with reported(self.part):
            self._file.truncate(self._size)
        self._note()

    def _before(self) -> OutputNote | None:
        if not self.note.exists() or not self.part.exists():
            return None
        note = read_note(self.note)
        if others := note.others(self.asked):
            raise UserError(
                f"{self.part}: was begun {others}; ask as before to go on with it, or start anew with --force"
            )
        return note

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{self.part}: another process is writing it; wait for it, or stop it") from None
        except OSError as error:
            raise UserError(f"{self.part}: {NO_LOCKS} ({error.strerror}); choose another --out") from None
        if not self.part.exists() or not os.path.samestat(os.fstat(self._file.fileno()), self.part.stat()):
            raise UserError(f"{self.path}: another process has just finished it")

    def refuse_other_input(self, name: str, taken: int, digest: str) -> None:
        """Of the lines that are answered already, as they are now."""
        if taken < self.lines or digest != self.digest:
            raise UserError(
                f"{name}: is not what {self.part} was begun with: its first "
                f"{counted(self.lines, 'line was another', 'lines were others')}; "
                "put it back, or start anew with --force"
            )

    def write(self, text: str) -> None:
        with reported(self.part):
            self._file.write(text.encode())

    def keep(self, lines: int, digest: str, counts: Mapping[str, int]) -> None:
        self.lines, self.digest, self.counts, self._size = lines, digest, dict(counts), self._file.tell()
        if time.monotonic() - self._kept > EVERY:
            self._note()

    def _note(self) -> None:
        """The answers first: a note never speaks of what is not on the disk."""
        with reported(self.part):
            self._file.flush()
            os.fsync(self._file.fileno())
        self._known.write(self.note)
        self._kept = time.monotonic()

    @property
    def _known(self) -> OutputNote:
        return OutputNote(self.asked, self.lines, self._size, self.digest, self.counts)

    def stop(self) -> None:
        """Before its end: what was kept can be gone on with."""
        self._note()
        self._file.close()

    def finish(self) -> None:
        self._note()
        self._known.write(_done(self.path))  # first: FILE is never there without it
        with reported(self.path):
            self.part.replace(self.path)  # before it is closed, which gives the lock away
            to_disk(self.path.parent)
            self.note.unlink(missing_ok=True)
        self._file.close()


def finished(path: Path, asked: Mapping[str, Any]) -> OutputNote | None:
    """What is known of a file that is whole; None: it is not there, or yet to be finished.

    A UserError if it answers another question; a file that nobody knows is OutputFile's to refuse.
    """
    if not path.is_file() or path.with_name(f"{path.name}.part").exists() or not _done(path).exists():
        return None
    note = read_note(_done(path))
    if path.stat().st_size != note.bytes:
        return None
    if others := note.others(asked):
        raise UserError(f"{path}: was written {others}; name another --out, or write over it with --force")
    return note


def _done(path: Path) -> Path:
    return path.with_name(f"{path.name}.done.json")


def _refuse_places(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path}: is a folder; --out names a file")
    if compression(path.name) is not None:
        raise UserError(
            f"{path}: answers are written as plain text, so that the same command can go on; "
            f"name another --out, or leave it away and send standard output there: | {compression(path.name)} > {path}"
        )
    if path.exists() and not path.is_file():  # it would be replaced by a file
        raise UserError(f"{path}: is no plain file; leave --out away, and send standard output there: > {path}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it, or name another --out")
