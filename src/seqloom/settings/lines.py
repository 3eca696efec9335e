"""Where each setting stands in a TOML text.

The standard parser keeps no line numbers. This reader finds them in a text which that parser has accepted already,
so that it need not check anything itself.
"""

import re
import tomllib
from bisect import bisect_left

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")  # commas too: between the items of an array they say nothing more
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""(?:"{0,2})'  # up to two quotes may stand right before the closing three
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'"
)
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")  # with spaces: a date and its time may be apart


def locate(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every table, setting and list item, by its path; a table's line is its header's."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {}
        self.tables_in: dict[KeyPath, int] = {}  # how many [[tables]] an array of tables has so far

    def read(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while character := self.look():
            if character == "[":
                table = self.header()
            else:
                self.setting(table)
        return self.lines

    def look(self) -> str:
        """The next character that says something; nothing at the end."""
        self.skip(_BLANK)
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def mark(self, path: KeyPath) -> None:
        """Note the present line for a path, and for the tables above it that have none yet."""
        line = bisect_left(self.newlines, self.at) + 1
        for length in range(1, len(path)):
            self.lines.setdefault(path[:length], line)
        self.lines[path] = line

    def header(self) -> KeyPath:
        """`[a.b]` or `[[a.b]]`; inside an array of tables, a name means its latest table."""
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        self.look()
        *above, last = self.key()
        path: KeyPath = ()
        for name in above:
            path = self.latest((*path, name))
        path = (*path, last)
        if brackets == 2:
            self.tables_in[path] = self.tables_in.get(path, 0) + 1
            path = self.latest(path)
        self.mark(path)
        self.look()
        self.at += brackets
        return path

    def latest(self, path: KeyPath) -> KeyPath:
        return (*path, self.tables_in[path] - 1) if path in self.tables_in else path

    def setting(self, table: KeyPath) -> None:
        path = (*table, *self.key())
        self.mark(path)
        self.skip(_EQUALS)
        self.value(path)

    def key(self) -> list[str]:
        names = [self.name()]
        while self.skip(_DOT):
            names.append(self.name())
        return names

    def name(self) -> str:
        if bare := self.skip(_BARE_KEY):
            return bare
        return str(tomllib.loads("name = " + self.skip(_STRING))["name"])

    def value(self, path: KeyPath) -> None:
        match self.text[self.at]:
            case "[":
                self.array(path)
            case "{":
                self.inline_table(path)
            case '"' | "'":
                self.skip(_STRING)
            case _:
                self.skip(_BARE_VALUE)

    def array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self.look() != "]":
            self.mark((*path, index))
            self.value((*path, index))
            index += 1
        self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.look() != "}":
            self.setting(path)
        self.at += 1
