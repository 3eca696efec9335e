"""The same content has the same fingerprint, other content another; large files are hashed once."""

import os
from pathlib import Path

import pytest

from seqloom.data.reading import content_hash as module
from seqloom.data.reading import fingerprint
from tests.data.reading.examples import corpus, write

LONG_AGO = 1_000_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "SMALL", 10)
    return tmp_path / "cache"


def old(path: Path, content: str) -> str:
    name = write(path, content)
    os.utime(name, (LONG_AGO, LONG_AGO))
    return name


def test_it_is_the_content(tmp_path: Path) -> None:
    one = fingerprint(corpus(write(tmp_path / "a.tsv", "a\tb\n" * 100)))
    assert one == fingerprint(corpus(write(tmp_path / "b.tsv", "a\tb\n" * 100)))
    assert one != fingerprint(corpus(write(tmp_path / "c.tsv", "a\tb\n" * 99 + "a\tc\n")))
    assert len(one) == 32


def test_two_files_and_their_order(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.en", "a\n"), write(tmp_path / "a.de", "b\n")
    assert len({fingerprint(corpus(a, b)), fingerprint(corpus(b, a)), fingerprint(corpus(a))}) == 3


def test_an_unchanged_large_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = old(tmp_path / "a.tsv", "a\tb\n" * 100)
    first = fingerprint(corpus(name))
    monkeypatch.setattr(module, "_hash", lambda *_: pytest.fail("read again"))
    assert fingerprint(corpus(name)) == first


def test_a_changed_one_is(tmp_path: Path) -> None:
    name = old(tmp_path / "a.tsv", "a\tb\n" * 100)
    first = fingerprint(corpus(name))
    write(Path(name), "a\tc\n" * 100)
    assert fingerprint(corpus(name)) != first


def test_one_that_changes_within_a_tick_of_the_clock(tmp_path: Path, cache: Path) -> None:
    name = write(tmp_path / "a.tsv", "a\tb\n" * 100)
    stat = Path(name).stat()
    first = fingerprint(corpus(name))
    write(Path(name), "a\tc\n" * 100)
    os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert fingerprint(corpus(name)) != first
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", write(tmp_path / "file", ""))
    name = old(tmp_path / "a.tsv", "a\tb\n" * 100)
    assert fingerprint(corpus(name)) == fingerprint(corpus(name))


def test_a_damaged_stamp_is_not_believed(tmp_path: Path, cache: Path) -> None:
    name = old(tmp_path / "a.tsv", "a\tb\n" * 100)
    first = fingerprint(corpus(name))
    (stamp,) = (cache / "fingerprints").iterdir()
    stamp.write_bytes(b"\xff\xfe")
    assert fingerprint(corpus(name)) == first
