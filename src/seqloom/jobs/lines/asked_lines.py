"""Lines → questions. A line that cannot be answered is no reason to lose the others' places."""

import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

from seqloom.data.file_format import STDIN, compression
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.live_stream import LiveStream
from seqloom.data.reading.seen_table import LOOKED_AT
from seqloom.data.reading.source_column import Wanted
from seqloom.data.reading.stored_file import stored
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.lines.asked_input import AskedInput, AskedLine
from seqloom.jobs.lines.asked_json import JsonQuestions
from seqloom.settings.words import counted

InputFormat = Literal["text", "jsonl", "csv", "tsv"]
NOBODYS = Wanted(None, (), "pairs")
"""What is wanted of JSON where there is no model to ask."""


class AskedLines(AskedInput):
    """The lines of a file or of standard input, read when they are asked for."""

    head: list[str]

    def __init__(
        self, name: str, form: Literal["text", "jsonl"], column: int | None = None, wanted: Wanted = NOBODYS
    ) -> None:
        """column: of lines of text, the one between tabs that is asked, from 1; None: all of the line.

        wanted: of JSON, which key is asked.
        """
        super().__init__()
        self.form, self.column = form, column
        self._questions = JsonQuestions(wanted)
        self.head = []
        self._lines = Lines(name, stream=stream_of(name), binary=True)
        self.name = self._lines.name

    def take(self, count: int) -> list[AskedLine]:
        """The next ones: so many, or those that are there of a stream that comes slowly; none at the end."""
        found = []
        for line in self._lines.take(count, wait=False):
            self.taken += 1
            whole = _bytes(line) + b"\n"
            self._digest.update(whole)
            self.bytes += len(whole)
            found.append(replace(self._asked(line), digest=self.digest, end=self.bytes))
        return found

    def _asked(self, line: str | Broken) -> AskedLine:
        if isinstance(line, Broken):
            return AskedLine(self.taken, f"{line.what}; {line.fix}")
        if self.form == "text":
            return AskedLine(self.taken, self._text(line))
        if not line.strip():
            return AskedLine(self.taken, Question(""))
        return AskedLine(self.taken, *self._questions.read(line))

    @property
    def note(self) -> str | None:
        return self._questions.note

    def _text(self, line: str) -> Question | str:
        self.json = self.json or self._questions.asks(line)
        if len(self.head) < LOOKED_AT:
            self.head.append(line)
        if self.column is None:
            self.tabs = self.tabs or "\t" in line
            return Question(line)
        columns = line.split("\t")
        if len(columns) < self.column and line.strip():
            return f"there is no column {self.column} ({counted(len(columns), 'column')}); mend the line"
        return Question(columns[self.column - 1] if line.strip() else "")

    def close(self) -> None:
        self._lines.__exit__()


def size_of(name: str) -> int | None:
    """Bytes of all lines, to tell how much is left; None: nobody knows."""
    plain = name != STDIN and compression(name) is None and Path(name).is_file()
    return Path(name).stat().st_size if plain else None


def stream_of(name: str) -> LiveStream | ByteStream:
    if name == STDIN:
        return LiveStream(sys.stdin.buffer)
    path = Path(name)
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        return LiveStream(path.open("rb"), name)
    stored(name)  # for its messages
    return ByteStream(name)


def _bytes(line: str | Broken) -> bytes:
    return (line.text if isinstance(line, Broken) else line).encode("utf-8", "surrogatepass")
