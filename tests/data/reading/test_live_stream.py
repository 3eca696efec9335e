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
