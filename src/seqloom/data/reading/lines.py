"""Bytes → lines of text, many at a time."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.faults import Broken, DataError

PIECE = 1 << 20


class Stream(Protocol):
    """Bytes from begin to end. waiting: whether more of them, or the end, can be had at once."""

    name: str

    @property
    def waiting(self) -> bool: ...

    @property
    def consumed(self) -> int: ...

    def read(self, count: int) -> bytes: ...

    def close(self) -> None: ...


# the first that fits: the mark of UTF-32 begins as that of UTF-16
_KNOWN = {
    b"\x1f\x8b": "a gzip file; give its name the ending .gz",
    b"\x28\xb5\x2f\xfd": "a zstd file; give its name the ending .zst",
    b"\xfd7zX": "an xz file; give its name the ending .xz",
    b"BZh9": "a bzip2 file; give its name the ending .bz2",
    b"PAR1": 'a Parquet file; give its name the ending .parquet, or set format = "parquet"',
    b"PK\x03\x04": "a zip or office file; unpack it, or save the table as CSV",
    b"%PDF": "a PDF; save its text as a text file",
    b"\xff\xfe\0\0": "UTF-32 text; convert the file, e.g. iconv -f utf-32 -t utf-8",
    b"\0\0\xfe\xff": "UTF-32 text; convert the file, e.g. iconv -f utf-32 -t utf-8",
    b"\xff\xfe": "UTF-16 text; convert the file, e.g. iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "UTF-16 text; convert the file, e.g. iconv -f utf-16 -t utf-8",
}
LATIN = "convert the file, e.g. iconv -f cp1252 -t utf-8"  # cp1252 reads all of latin1, and the € of Windows
_BOM = b"\xef\xbb\xbf"


LOOKED_AT, FEWEST = 4096, 4  # bytes that tell of UTF-16, and NUL bytes among them


def _two_bytes(data: bytes) -> str:
    """Which byte comes first of text in UTF-16, be or le, where nothing marks it; empty: it is none.

    Of ASCII every second byte is NUL, and of other letters those of spaces and line ends are.
    """
    even, odd = data[::2].count(0), data[1::2].count(0)
    if max(even, odd) < FEWEST or min(even, odd) * 10 > max(even, odd) or max(even, odd) * 20 < len(data):
        return ""
    return "be" if even > odd else "le"


class Lines:
    """The lines of a file, without their ends; a line that is no text is a `Broken`.

    Only a line feed ends a line, and one carriage return before it belongs to the end. Python's splitlines would
    also split at U+2028 or form feeds, and lines that belong together would no longer meet.
    """

    def __init__(
        self, name: str, keep_returns: bool = False, stream: Stream | None = None, binary: bool = False
    ) -> None:
        """stream: what is read instead of a file. binary: NUL bytes spoil their lines, but not all of the file."""
        self._stream: Stream = stream or ByteStream(name)
        self.name = self._stream.name
        self._binary = binary
        self._keep_returns = keep_returns
        self._pieces = self._decoded()
        self._lines: list[Any] = []
        self._at = 0
        self.count = 0
        """how many lines were taken so far"""

    def take(self, count: int, wait: bool = True) -> list[Any]:
        """The next lines: str, or Broken; fewer than count only at the end.

        wait: if not, of a stream that comes slowly those that are there, but at least one.
        """
        lines = self._lines[self._at : self._at + count]
        self._at += len(lines)
        while len(lines) < count and (wait or not lines or self._stream.waiting):
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._lines, self._at = piece, min(len(piece), count - len(lines))
            lines += piece[: self._at]
        self.count += len(lines)
        return lines

    def _decoded(self) -> Iterator[list[Any]]:
        for data in self._pieces_of_whole_lines():
            yield [] if data is None else self._text(data)

    def _pieces_of_whole_lines(self) -> Iterator[bytes | None]:
        """Each piece ends with a line, and its line feed is taken off. None: a part of a line came, and no end yet;
        whoever has lines already need not wait for it."""
        open_line: list[bytes] = []  # a list, as adding to bytes again and again would take long for a long line
        first = True
        while data := self._stream.read(PIECE):
            if first:
                data, first = self._looked_at(data), False
            head, end, rest = data.rpartition(b"\n")
            if end:
                yield b"".join([*open_line, head])
                open_line.clear()
            else:
                yield None
            if rest:
                open_line.append(rest)
        if open_line:
            yield b"".join(open_line)

    def _looked_at(self, data: bytes) -> bytes:
        for magic, what in _KNOWN.items():
            if data.startswith(magic):
                raise DataError(f"{self.name}: this is {what}")
        if b"\0" in data and not self._binary and (order := _two_bytes(data[:LOOKED_AT])):
            raise DataError(f"{self.name}: this is UTF-16 text; convert the file, e.g. iconv -f utf-16{order} -t utf-8")
        # of a stream that comes slowly, the first piece may end before its first line does
        if b"\n" not in data and data.count(b"\r") > 1 and isinstance(self._stream, ByteStream):
            fix = "convert the file, e.g. tr '\\r' '\\n'"
            raise DataError(f"{self.name}: its lines end with carriage returns alone, as on old Macs; {fix}")
        if b"\0" in data and not self._binary:
            line = data.count(b"\n", 0, data.index(b"\0")) + 1
            raise DataError(f"{self.name}:{line}: a binary file, as it holds a NUL byte; text in UTF-8 is needed")
        return data.removeprefix(_BOM)

    def _text(self, data: bytes) -> list[Any]:
        if b"\0" not in data:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                pass
            else:
                if "\r" in text and not self._keep_returns:
                    text = text.replace("\r\n", "\n").removesuffix("\r")
                return text.split("\n")
        return [self._line(line) for line in data.split(b"\n")]

    def _line(self, line: bytes) -> str | Broken:
        readable = line.decode("utf-8", "replace")
        if b"\0" in line:
            return Broken("a NUL byte", f"a NUL byte at column {readable.index(chr(0)) + 1}", "remove it", readable)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode("utf-8")) + 1
            what = f"not UTF-8 text (byte 0x{line[error.start]:02x} at column {column})"
            return Broken("not UTF-8 text", what, LATIN, readable)
        return text if self._keep_returns else text.removesuffix("\r")

    @property
    def consumed(self) -> int:
        return self._stream.consumed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
