"""A hundred looks at most, spread over the whole run; the same ones, whether it was killed or not."""

from pathlib import Path

import pytest
import torch

from seqloom.settings import FailedError
from seqloom.store.looks import MOST, LooksFolder, stride


def filled(path: Path, numbers: range) -> LooksFolder:
    folder = LooksFolder(path)
    folder.begin({})
    for number in numbers:
        folder.add(number, 10 * number + 10, torch.full((1, 1, 1), float(number)))
    return folder


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 198, 199, 400, 1000])
def test_which_are_kept(tmp_path: Path, count: int) -> None:
    numbers = [file.number for file in filled(tmp_path / "looks", range(count)).files()]
    assert len(numbers) <= MOST
    assert numbers == sorted({*range(0, count, stride(count)), count - 1})
    assert count < MOST / 2 or len(numbers) >= MOST / 2


def test_what_is_read_is_what_was_added(tmp_path: Path) -> None:
    folder = LooksFolder(tmp_path / "looks")
    folder.begin({"layer": "é"})
    weights = torch.rand(2, 3, 4)
    folder.add(0, 7, weights)
    (file,) = folder.files()
    assert file.step == 7
    assert torch.equal(file.read(), weights)
    assert folder.read_about() == {"layer": "é"}


@pytest.mark.parametrize("killed", [3, 99, 100, 150])
def test_a_run_that_was_killed_keeps_the_same(tmp_path: Path, killed: int) -> None:
    """It goes on from one validation before; what was thinned out then is thinned out again."""
    straight = filled(tmp_path / "straight", range(160))
    folder = filled(tmp_path / "killed", range(killed))
    folder.keep(until=10 * (killed - 2) + 10)
    assert max(file.number for file in folder.files()) < killed - 1
    filled(tmp_path / "killed", range(killed - 1, 160))
    names = {file.path.name: file.path.read_bytes() for file in straight.files()}
    assert {file.path.name: file.path.read_bytes() for file in folder.files()} == names


def test_strange_files_are_left_alone(tmp_path: Path) -> None:
    folder = filled(tmp_path / "looks", range(2))
    for name in ("look-x-step-1.safetensors", "note.txt", "look-000009-step-00000009.safetensors.partial"):
        (folder.path / name).write_text("mine")
    assert [file.number for file in folder.files()] == [0, 1]
    assert LooksFolder(tmp_path / "none").files() == []


@pytest.mark.parametrize("text", ["", "[]", "{", "\udcff"])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    folder = filled(tmp_path / "looks", range(1))
    folder.about.write_text(text, errors="surrogateescape")
    assert folder.read_about() == {}


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    folder = LooksFolder(tmp_path / "looks")
    with pytest.raises(FailedError, match="cannot be written"):  # there is no folder
        folder.add(0, 1, torch.zeros(1, 1, 1))
