"""Names that users give: files, what is no file, pipes, standard input."""

import bz2
import os
import threading
from pathlib import Path

import pytest

from seqloom.data.reading import fingerprint, size
from seqloom.data.reading.stored_file import stored
from tests.data.reading.examples import corpus, fault, packed, pipe_in, rows, write


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", "a\tb\n")
    wrong = tmp_path / "trian.tsv"
    assert fault(str(wrong)) == f"{wrong}: no such file; did you mean {tmp_path / 'train.tsv'}?"


def test_an_ending_alone_is_not_alike(tmp_path: Path) -> None:
    write(tmp_path / "windows.txt", "a\n")
    assert "did you mean" not in fault(str(tmp_path / "nope.txt"))


def test_a_missing_file_like_no_other(tmp_path: Path) -> None:
    assert fault(str(tmp_path / "x.tsv")) == f"{tmp_path / 'x.tsv'}: no such file; paths count from {Path.cwd()}"


def test_a_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    wrong = tmp_path / "corpsu" / "a.tsv"
    said = f"{wrong}: there is no folder {wrong.parent}; did you mean {tmp_path / 'corpus'}?"
    assert fault(str(wrong)) == said


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").symlink_to(tmp_path / "gone.tsv")
    assert fault(str(tmp_path / "a.tsv")).endswith("a link to a file that is not there; mend the link")


def test_a_folder(tmp_path: Path) -> None:
    assert fault(str(tmp_path)) == f"{tmp_path}: a folder; name the files in it, but it is empty"
    write(tmp_path / "a.tsv", "a\tb\n")
    assert fault(str(tmp_path), format="tsv").endswith(f"name the files in it, for example {tmp_path / 'a.tsv'}")
    (tmp_path / "a.tsv").rename(tmp_path / "b.tsv")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.tsv").touch()
    assert fault(str(tmp_path), format="tsv").endswith(f"for example {tmp_path / 'a' / 'c.tsv'}")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_no_permission(tmp_path: Path) -> None:
    name = write(tmp_path / "a.tsv", "a\tb\n")
    Path(name).chmod(0)
    assert fault(name) == f"{name}: no permission to read it; mend it with chmod or ask the owner"


def test_no_permission_as_anyone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write(tmp_path / "a.tsv", "a\tb\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert fault(name) == f"{name}: no permission to read it; mend it with chmod or ask the owner"


class TestStandardInput:
    def test_it_is_read_as_often_as_wanted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe_in(monkeypatch, tmp_path, b"a\tb\nc\td\n")
        assert rows("-") == rows("-") == [(1, "a", "b"), (2, "c", "d")]
        assert size(corpus("-")) == 8
        assert fingerprint(corpus("-")) == fingerprint(corpus(write(tmp_path / "a.tsv", b"a\tb\nc\td\n")))

    @pytest.mark.parametrize("codec", ["gzip", "zstd", "xz", "bzip2"])
    def test_packed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str) -> None:
        pipe_in(monkeypatch, tmp_path, packed(b"a\tb\n", codec))
        assert rows("-") == [(1, "a", "b")]

    @pytest.mark.parametrize("level", [1, 9])
    def test_packed_at_any_level(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: int) -> None:
        pipe_in(monkeypatch, tmp_path, bz2.compress(b"a\tb\n", level))
        assert rows("-") == [(1, "a", "b")]

    def test_plain_text_and_json(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe_in(monkeypatch, tmp_path, b"a b\tc\n")
        assert rows("-", shape="text") == [(1, "a b\tc")]
        pipe_in(monkeypatch, tmp_path, b'{"text": "a", "label": "b"}\n')
        assert rows("-", shape="classes") == [(1, "a", "b")]
        assert rows("-", shape="text") == [(1, "a")]

    def test_faults_name_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe_in(monkeypatch, tmp_path, b"a\tb\nc\n")
        assert fault("-").startswith("standard input:2: expected 2 columns")
        pipe_in(monkeypatch, tmp_path, b"")
        assert fault("-") == "standard input: no example in it (empty); is it the right file?"

    def test_a_cache_folder_that_cannot_be_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pipe_in(monkeypatch, Path(write(tmp_path / "file", "")), b"a\tb\n")
        assert "name another folder in SEQLOOM_CACHE" in fault("-")


def test_a_pipe_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path))
    name = tmp_path / "pipe.tsv"
    os.mkfifo(name)
    writer = threading.Thread(target=name.write_bytes, args=(b"a\tb\n",))
    writer.start()
    assert rows(str(name)) == rows(str(name)) == [(1, "a", "b")]
    writer.join()
    assert stored(str(name)) != name
