"""Folders of the cache: whole or not there, also when a build fails or is killed."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.data import building
from seqloom.data.building import Building, digest
from seqloom.settings import FailedError


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_it_appears_whole(tmp_path: Path) -> None:
    with Building(tmp_path / "new" / "key") as partial:
        (partial / "file").write_text("1")
        assert not (tmp_path / "new" / "key").exists()
    assert _names(tmp_path / "new") == ["key"]
    assert (tmp_path / "new" / "key" / "file").read_text() == "1"


def test_who_comes_second_finds_the_first_ones(tmp_path: Path) -> None:
    with Building(tmp_path / "key") as mine:
        (mine / "file").write_text("second")
        with Building(tmp_path / "key") as other:
            (other / "file").write_text("first")
    assert _names(tmp_path) == ["key"]
    assert (tmp_path / "key" / "file").read_text() == "first"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad line"), Building(tmp_path / "key"):
        raise ValueError("bad line")
    assert _names(tmp_path) == []


def test_a_full_disk(tmp_path: Path) -> None:
    full = pytest.raises(FailedError, match=r"No space left on device; make room .* SEQLOOM_CACHE")
    with full, Building(tmp_path / "key"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert _names(tmp_path) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = pytest.raises(FailedError, match=r"file: cannot be written: .*; .* SEQLOOM_CACHE")
    with refused, Building(tmp_path / "file" / "key"):
        pass


def test_what_a_killed_build_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, other = tmp_path / "key.partial-abc", tmp_path / "other.partial-abc"
    for folder in (left, other):
        folder.mkdir()
        (folder / "file").write_text("half")
    with Building(tmp_path / "key") as partial:
        assert left.exists()  # just made: another process may be at it
        monkeypatch.setattr(building, "JUST_MADE", -1.0)
        with Building(tmp_path / "key"):
            assert not left.exists()
            assert partial.exists()  # somebody holds its lock
    assert _names(tmp_path) == ["key", "other.partial-abc"]


def test_what_another_process_removed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.glob

    def vanishing(folder: Path, pattern: str) -> Iterator[Path]:
        for found in real(folder, pattern):
            found.rmdir()
            yield found

    (tmp_path / "key.partial-abc").mkdir()
    monkeypatch.setattr(Path, "glob", vanishing)
    with Building(tmp_path / "key") as partial:
        (partial / "file").write_text("1")
    assert _names(tmp_path) == ["key"]


def test_many_processes_at_the_same_keys(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from seqloom.data.building import Building\n"
        "for key in range(150):\n"
        "    with Building(Path(sys.argv[1]) / str(key)) as partial: (partial / 'file').write_text('1')\n"
    )
    crew = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(4)]
    assert [process.wait() for process in crew] == [0] * 4
    assert _names(tmp_path) == sorted(map(str, range(150)))


def test_a_key_is_of_the_content_not_of_its_order() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest([1, 2]) != digest([2, 1])
