"""What readers give: some thousand examples at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from seqloom.data.reading.faults import Skipped

Shape = Literal["pairs", "text", "tags", "classes", "series", "timeline"]

FIELDS: dict[Shape, tuple[str, ...]] = {
    "pairs": ("source", "target"),
    "text": ("text",),
    "tags": ("words", "tags"),
    "classes": ("text", "label"),
    "timeline": (),
    "series": ("values", "label"),
}

ROWS = 4096


@dataclass(frozen=True)
class Places:
    """What messages call the place of an example: the file and its line, or a file of its own."""

    numbered: bool = True
    """whether the lines are places in the file; otherwise the example is all of it"""
    files: Mapping[int, str] = field(default_factory=dict)
    """of a folder, whose files are numbered in place of lines: which they are"""

    def of(self, file: str, line: int) -> str:
        return self.files.get(line) or (f"{file}:{line}" if self.numbered else file)


@dataclass(frozen=True)
class Block:
    """Examples that can be used, field by field. There may be none in it, if all were left out."""

    file: str
    """the name to show; of aligned files the first"""
    lines: Sequence[int]
    """the line or row of each example, from 1"""
    columns: tuple[list[Any], ...]
    """the fields in the order of FIELDS: texts, or lists of words and tags; a series is an array, values_TC"""
    skipped: int = 0
    """how many examples of this block were left out"""
    bytes: int = 0
    """how many bytes of the files (compressed as they are) were read for this block"""
    names: tuple[str, ...] = ()
    """of the channels of a series, where the file has them"""
    report: Skipped = field(default_factory=Skipped)
    """why examples were left out, and where"""
    places: Places = Places()
    by_steps: bool = False
    """whether each step of a series has a line of its own; that of the series is then its first"""

    def place(self, row: int) -> str:
        """Where an example stands, for messages."""
        return self.places.of(self.file, self.lines[row])

    def take(self, rows: Iterable[int]) -> "Block":
        """Of the examples only these."""
        kept = list(rows)
        columns = tuple([column[row] for row in kept] for column in self.columns)
        return replace(self, lines=[self.lines[row] for row in kept], columns=columns)


@dataclass(frozen=True)
class Rows:
    """What a format's reader takes from a file, before anyone looked at what the values mean."""

    files: tuple[str, ...]
    """the file of each column"""
    lines: Sequence[int]
    columns: tuple[list[Any], ...]
    """values; `Broken` where there is none"""
    bytes: int
    blank: bool = False
    """whether an empty value is a value: a blank line of running text"""
    names: tuple[str, ...] = ()
    """of the channels of a series, where the file has them"""
    places: Places = Places()
    by_steps: bool = False
    """whether each step of a series has a line of its own"""

    def place(self, column: int, line: int) -> str:
        """What a message calls a value's place."""
        return self.places.of(self.files[column], line)
