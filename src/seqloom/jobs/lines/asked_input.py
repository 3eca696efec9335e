"""What is asked, one thing after the other: where a reader of it is, and what it has read so far."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

from seqloom.jobs.answering.answer import Question


@dataclass(frozen=True)
class AskedLine:
    """number: from 1. question: or why there is none. id: what a JSON line calls itself, to be said again.

    digest and end: of all lines up to this one, and how many bytes they have.
    """

    number: int
    question: Question | str
    id: Any = None
    digest: str = ""
    end: int = 0
    at: int | None = None
    """The line where it stands, where that is another number."""
    file: str | None = None
    """The file that it is, where it has one of its own."""

    @property
    def line(self) -> int:
        return self.number if self.at is None else self.at

    def place(self, name: str) -> str:
        """For messages. name: of the input."""
        return self.file or f"{name}:{self.line}"


class AskedInput(ABC):
    """name: as it is shown. taken, bytes: so far."""

    name: str
    tabs = False
    """whether a line that was read whole holds a tab"""
    json = False
    """whether a line that was read as text is a question in JSON"""
    head: Sequence[str] = ()
    """the first lines, where they are read as text"""

    @property
    def note(self) -> str | None:
        """What should be known of how it is read, once that is known."""
        return None

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=16)
        self.taken = self.bytes = 0

    @abstractmethod
    def take(self, count: int) -> list[AskedLine]:
        """The next ones: so many, or as many as are left."""

    def skip(self, count: int) -> None:
        while self.taken < count and self.take(min(1024, count - self.taken)):
            pass

    @property
    def digest(self) -> str:
        """Of all that was taken; empty if nothing was."""
        return self._digest.hexdigest() if self.taken else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - not everyone holds something open
        pass
