"""Lines → questions. A line that cannot be answered is no reason to lose the others' places."""

import json
import math
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from seqloom.data.file_format import STDIN, compression
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.live_stream import LiveStream
from seqloom.data.reading.seen_table import LOOKED_AT
from seqloom.data.reading.stored_file import stored
from seqloom.jobs.answer import Question, are_texts, longest_fault
from seqloom.jobs.asked_input import AskedInput, AskedLine
from seqloom.settings.words import counted, nearest, show

InputFormat = Literal["text", "jsonl", "csv", "tsv"]
DEEPEST = 100  # Python's own limits lie near 1,000, and fall where a caller is deep itself
DIGITS = 1000  # of a number; Python reads no more than 4,300
_TEXT, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")
KEYS = ("source", "prefix", "must", "must_not", "longest", "id")


class AskedLines(AskedInput):
    """The lines of a file or of standard input, read when they are asked for."""

    def __init__(self, name: str, form: InputFormat, column: int | None = None) -> None:
        """column: of lines of text, the one between tabs that is asked, from 1; None: all of the line."""
        super().__init__()
        self.form, self.column = form, column
        self.head = list[str]()
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
        try:
            fields = parsed(line)
        except ValueError as error:
            return AskedLine(self.taken, f"not JSON ({error}); mend the line")
        fault = _fault(fields)
        if fault:
            named = isinstance(fields, dict) and _characters(fields.get("id"))
            return AskedLine(self.taken, fault, fields.get("id") if named else None)
        return AskedLine(self.taken, _question(fields), fields.get("id"))

    def _text(self, line: str) -> Question | str:
        self.json = self.json or _asks_in_json(line)
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


def parsed(line: str) -> Any:
    """JSON that anybody may have sent. A ValueError says what is no JSON, or more of it than anybody means."""
    if _depth(line) > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    return _JSON.decode(line)


def _depth(line: str) -> int:
    """How deep its brackets nest at most; those within texts do not count."""
    if line.count("[") + line.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", line)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _whole_number(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{show(digits)} is too large a number")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON's")


_JSON = json.JSONDecoder(parse_int=_whole_number, parse_float=_fraction, parse_constant=_no_constant)


def _asks_in_json(line: str) -> bool:
    if not line.lstrip().startswith("{") or '"source"' not in line:
        return False
    try:
        fields = parsed(line)
    except ValueError:
        return False
    return isinstance(fields, dict) and "source" in fields


def _question(fields: dict[str, Any]) -> Question:
    source = fields["source"]
    return Question(
        source if isinstance(source, str) else tuple(source),
        fields.get("prefix") or "",
        tuple(fields.get("must") or ()),
        tuple(fields.get("must_not") or ()),
        fields.get("longest"),
    )


def _fault(fields: Any) -> str | None:
    """What is wrong with a JSON line."""
    if not isinstance(fields, dict):
        return f'should be a table such as {{"source": "…"}}, but is {show(fields)}'
    for name in fields:
        if name not in KEYS:
            near = nearest(name, KEYS)
            return f"unknown key {name!r}; " + (f"did you mean {near!r}?" if near else f"there are {', '.join(KEYS)}")
    return next(_faults(fields), None)


def _faults(fields: dict[str, Any]) -> Iterator[str]:
    source, longest = fields.get("source"), fields.get("longest")
    if not isinstance(source, str) and not are_texts(source):
        yield f"the source should be text, but is {_shown(source)}"
    if not isinstance(fields.get("prefix"), str | None):
        yield f"prefix should be text, but is {_shown(fields['prefix'])}"
    if not _characters(fields):
        yield "half a surrogate pair is no character; remove it"
    for name in ("must", "must_not"):
        if fields.get(name) is not None and not are_texts(fields[name]):
            yield f"{name} should be a list of texts, but is {_shown(fields[name])}"
    if wrong := longest_fault(longest):
        yield wrong


def _characters(fields: Any) -> bool:
    """JSON can spell halves of surrogate pairs, which no text can hold."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    return "missing" if value is None else show(value)
