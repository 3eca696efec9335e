"""Lines of a pipe, as they come."""

import gzip
import io
import os

import pytest

from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.live_stream import LiveStream


def test_what_is_there_is_given() -> None:
    read, write = os.pipe()
    with open(read, "rb") as end:  # noqa: PTH123 (a pipe's end)
        lines = Lines("-", stream=LiveStream(end))
        assert lines.name == "standard input"
        os.write(write, b"a\nb\nhalf")
        assert lines.take(10, wait=False) == ["a", "b"]
        os.write(write, b" and half\nc\n")
        assert lines.take(1, wait=False) == ["half and half"]
        os.close(write)
        assert lines.take(10) == ["c"]
        assert lines.take(10, wait=False) == []


def test_a_nul_byte_spoils_its_line_only() -> None:
    first, second, third = Lines("-", stream=LiveStream(io.BytesIO(b"a\nb\0\nc")), binary=True).take(5)
    assert (first, third) == ("a", "c")
    assert isinstance(second, Broken)
    with pytest.raises(DataError, match="standard input:2: a binary file"):
        Lines("-", stream=LiveStream(io.BytesIO(b"a\nb\0\nc"))).take(5)


def test_packed_bytes() -> None:
    with pytest.raises(DataError, match="standard input: packed with gzip; name the file, or unpack it on the way"):
        Lines("-", stream=LiveStream(io.BytesIO(gzip.compress(b"a\n")))).take(1)


class Slow:
    """Gives these pieces; nothing more is there behind them for now, and whoever reads on would wait."""

    name, consumed = "slow", 0

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    @property
    def waiting(self) -> bool:
        return bool(self.pieces)

    def read(self, count: int) -> bytes:
        assert self.pieces, "it would wait"
        return self.pieces.pop(0)

    def close(self) -> None: ...


def test_half_a_line_does_not_hold_back_the_lines_before_it() -> None:
    stream = Slow(b"a\n", b"ha", b"lf")
    lines = Lines("-", stream=stream)
    assert lines.take(10, wait=False) == ["a"]
    stream.pieces = [b" and half\nne", b"xt"]
    assert lines.take(10, wait=False) == ["half and half"]
    stream.pieces = [b"\n", b""]
    assert lines.take(10, wait=False) == ["next"]
    assert lines.take(10, wait=False) == []
