"""Compressed files: whole ones are read, others are never taken for whole."""

import gzip
from pathlib import Path

import pytest

from seqloom.data.reading import size
from seqloom.data.reading.byte_stream import ByteStream
from tests.data.reading.examples import blocks, corpus, fault, packed, rows, write

LINES = "".join(f"source {n}\ttarget {n * n}\n" for n in range(30_000)).encode()


@pytest.mark.parametrize(("codec", "ending"), [("gzip", ".gz"), ("zstd", ".zst"), ("xz", ".xz"), ("bzip2", ".bz2")])
class TestEach:
    def test_a_whole_file(self, tmp_path: Path, codec: str, ending: str) -> None:
        name = write(tmp_path / f"a.tsv{ending}", packed(LINES, codec))
        found = blocks(name)
        assert sum(len(block.lines) for block in found) == 30_000
        assert sum(block.bytes for block in found) == size(corpus(name)) < len(LINES)

    def test_parts_one_behind_the_other(self, tmp_path: Path, codec: str, ending: str) -> None:
        name = write(tmp_path / f"a.tsv{ending}", packed(b"a\tb\n", codec) + packed(b"c\td\n", codec))
        assert rows(name) == [(1, "a", "b"), (2, "c", "d")]

    @pytest.mark.parametrize("left", [0.5, 0.99])
    def test_one_that_ends_too_early(self, tmp_path: Path, codec: str, ending: str, left: float) -> None:
        data = packed(LINES, codec)
        name = write(tmp_path / f"a.tsv{ending}", data[: int(left * len(data))])
        message = fault(name)
        assert message.startswith(f"{name}: near byte ")
        assert message.endswith(f": the {codec} file ends too early; copy or download it again")
        assert fault(name, bad="skip") == message

    def test_the_last_byte_is_needed(self, tmp_path: Path, codec: str, ending: str) -> None:
        assert "ends too early" in fault(write(tmp_path / f"a.tsv{ending}", packed(b"a\tb\n", codec)[:-1]))
        assert "ends too early" in fault(write(tmp_path / f"b.tsv{ending}", packed(b"a\tb\n", codec)[:5]))

    def test_one_that_is_not_packed(self, tmp_path: Path, codec: str, ending: str) -> None:
        name = write(tmp_path / f"a.tsv{ending}", "Haus\thouse\n" * 20)
        assert f"not {codec}, or damaged; copy it again, or take the ending off" in fault(name)


def test_gzip_damaged_in_the_middle(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(LINES, mtime=0))
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
    assert "not gzip, or damaged" in fault(write(tmp_path / "a.tsv.gz", bytes(data)))


def test_without_ending_it_is_said_what_it_is(tmp_path: Path) -> None:
    assert fault(write(tmp_path / "a.tsv", gzip.compress(LINES))).endswith("a gzip file; give its name the ending .gz")


def test_bytes_are_counted_as_they_are_read(tmp_path: Path) -> None:
    with ByteStream(write(tmp_path / "a.txt", b"x" * 100)) as stream:
        assert (len(stream.read(30)), stream.consumed) == (30, 30)
