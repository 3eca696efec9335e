import os
from pathlib import Path

import pytest

from seqloom.jobs.demos import Demo, Example
from seqloom.jobs.demos.write import read, write
from seqloom.settings import UserError


def demo(*train: Example) -> Demo:
    return Demo("x", "a demo", "pairs", list(train), [Example("é", "e", "s")], [])


def test_tables_with_a_header(tmp_path: Path) -> None:
    written = write(demo(Example("a b", "c", "de"), Example("3‏/4", "d", "ar")), tmp_path / "new" / "folder")
    assert written == {name: tmp_path / "new" / "folder" / f"{name}.tsv" for name in ("train", "valid", "test")}
    assert written["train"].read_bytes().decode() == "source\ttarget\tslice\na b\tc\tde\n3‏/4\td\tar\n"
    assert written["valid"].read_bytes().decode() == "source\ttarget\tslice\né\te\ts\n"
    assert written["test"].read_bytes() == b"source\ttarget\tslice\n"


@pytest.mark.parametrize("sign", ["\t", "\n", "\r"])
def test_what_would_break_the_table_is_refused_before_anything_is_written(tmp_path: Path, sign: str) -> None:
    with pytest.raises(ValueError, match="a tab or a line break"):
        write(demo(Example(f"a{sign}b", "c", "")), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = write(demo(Example("old", "old", "")), tmp_path)["train"].read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as caught:
        write(demo(Example("new", "new", "")), tmp_path)
    assert str(caught.value) == f"{tmp_path}: the demo's data cannot be written here: No space left on device"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.tsv", "train.tsv", "valid.tsv"]
    assert (tmp_path / "train.tsv").read_bytes() == before


def test_a_file_in_the_folders_place(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="taken: the demo's data cannot be written here: File exists"):
        write(demo(), tmp_path / "taken")


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    one = demo(Example("a b", "c", "de"), Example("d", "e", "", ("f", "g h")), Example("\u2028\x85", "\x0b", "x"))
    files = write(one, tmp_path)
    assert read(files["train"]) == one.train
    assert read(files["valid"]) == one.valid
    assert read(files["test"]) == []


def test_tables_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no\.tsv: cannot be read: No such file or directory; --force makes"):
        read(tmp_path / "no.tsv")
    (tmp_path / "other.tsv").write_text("source\none field\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"other\.tsv: is not the table that the demo wrote; --force makes"):
        read(tmp_path / "other.tsv")
