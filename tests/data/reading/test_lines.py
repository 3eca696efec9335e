"""Bytes → lines, whatever the ends, the encoding and the size."""

import subprocess
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.reading import lines as module
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from tests.data.reading.examples import write
from tests.examples import many


def lines_of(name: str, take: int = 3, keep_returns: bool = False) -> list[object]:
    with Lines(name, keep_returns) as file:
        found: list[object] = []
        while some := file.take(take):
            found += some
        assert file.count == len(found)
        return found


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\r\r\nb", ["a\r", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        (b"\n\na\n\n", ["", "", "a", ""]),
        ("a\u2028b\nc\u0085d\x0be\x0c\x1cf\u2029\n".encode(), ["a\u2028b", "c\u0085d\x0be\x0c\x1cf\u2029"]),
        (b"a\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
    ],
)
def test_only_a_line_feed_ends_a_line(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert lines_of(write(tmp_path / "a.txt", data)) == lines


def test_carriage_returns_are_kept_on_request(tmp_path: Path) -> None:
    assert lines_of(write(tmp_path / "a.txt", b"a\r\nb\r"), keep_returns=True) == ["a\r", "b\r"]


@many
@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=20)),
    piece=st.integers(1, 50),
    take=st.integers(1, 7),
)
def test_the_size_of_pieces_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], piece: int, take: int
) -> None:
    name = write(tmp_path_factory.mktemp("lines") / "a.txt", "".join(f"{text}\n" for text in ["start", *texts]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        assert lines_of(name, take) == ["start", *texts]


def test_a_line_larger_than_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 1 << 10)
    huge = "ä" * 300_000
    assert lines_of(write(tmp_path / "a.txt", f"one\n{huge}\nthree\n")) == ["one", huge, "three"]


def test_a_line_that_is_not_utf8_is_said_with_its_column(tmp_path: Path) -> None:
    first, bad, last = lines_of(write(tmp_path / "a.txt", "gut\nä grö".encode() + b"\xdf\r\nnoch gut\r\n"))
    assert (first, last) == ("gut", "noch gut")
    assert isinstance(bad, Broken)
    assert bad.what == "not UTF-8 text (byte 0xdf at column 6)"
    assert bad.fix == "convert the file, e.g. iconv -f cp1252 -t utf-8"


def test_a_nul_byte_far_down_breaks_its_line_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 8)
    good, bad, last = lines_of(write(tmp_path / "a.txt", b"a long line\nb\0c\nd\n"))
    assert (good, last) == ("a long line", "d")
    assert isinstance(bad, Broken)
    assert bad.what == "a NUL byte at column 2"


@pytest.mark.skipif(not which("iconv"), reason="needs iconv")
def test_what_mends_a_line_keeps_every_sign_of_a_windows_file(tmp_path: Path) -> None:
    name = write(tmp_path / "a.txt", "“Größe” – 50 €\n".encode("cp1252"))
    (bad,) = lines_of(name)
    command = bad.fix.partition("e.g. ")[2].split()
    mended = subprocess.run([*command, name], capture_output=True, check=True).stdout
    assert mended.decode("utf-8") == "“Größe” – 50 €\n"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"ab\nc\0d", ":2: a binary file, as it holds a NUL byte; text in UTF-8 is needed"),
        (b"\xff\xfea\0b\0", ": this is UTF-16 text; convert the file, e.g. iconv -f utf-16 -t utf-8"),
        (
            "so it is\nöä\n".encode("utf-16-le"),
            ": this is UTF-16 text; convert the file, e.g. iconv -f utf-16le -t utf-8",
        ),
        (
            "قطة كبير\nكلب صغير\n".encode("utf-16-be"),
            ": this is UTF-16 text; convert the file, e.g. iconv -f utf-16be -t utf-8",
        ),
        (
            b"a\rb\rc\r",
            ": its lines end with carriage returns alone, as on old Macs; convert the file, e.g. tr '\\r' '\\n'",
        ),
        ("a\n".encode("utf-32"), ": this is UTF-32 text; convert the file, e.g. iconv -f utf-32 -t utf-8"),
        (b"\0\0\xfe\xff\0\0\0a", ": this is UTF-32 text; convert the file, e.g. iconv -f utf-32 -t utf-8"),
        (b"\xfe\xff\0a", ": this is UTF-16 text; convert the file, e.g. iconv -f utf-16 -t utf-8"),
        (b"\x1f\x8bxx", ": this is a gzip file; give its name the ending .gz"),
        (b"PK\x03\x04", ": this is a zip or office file; unpack it, or save the table as CSV"),
    ],
)
def test_what_is_no_text_is_recognised(tmp_path: Path, data: bytes, what: str) -> None:
    name = write(tmp_path / "a.txt", data)
    with pytest.raises(DataError) as error:
        lines_of(name)
    assert str(error.value) == name + what
