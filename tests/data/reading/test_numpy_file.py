"""Arrays of series and of pictures; nothing is unpickled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_equal

from seqloom.data.reading import DataError, read
from seqloom.data.reading.series_reader import series_rows
from seqloom.data.settings import Corpus


def _file(tmp_path: Path, **arrays: Any) -> Corpus:
    np.savez(tmp_path / "x.npz", **arrays)
    return Corpus(files=(str(tmp_path / "x.npz"),))


def test_series(tmp_path: Path) -> None:
    x = np.arange(12.0).reshape(2, 3, 2)
    (block,) = read(_file(tmp_path, values=x, labels=np.array(["a", "b"]), lengths=np.array([3, 1])), "series")
    assert_equal(block.columns[0], [x[0], x[1, :1]])
    assert block.columns[1] == ["a", "b"]
    assert list(block.lines) == [1, 2]


def test_one_channel(tmp_path: Path) -> None:
    (block,) = read(_file(tmp_path, x=np.arange(6).reshape(2, 3), y=np.array([1.0, 0.0])), "series")
    assert block.columns[0][0].shape == (3, 1)
    assert block.columns[1] == ["1", "0"]


@pytest.mark.parametrize(("shape", "picture"), [((2, 4, 5), (4, 5, 1)), ((2, 4, 5, 3), (4, 5, 3))])
def test_pictures(tmp_path: Path, shape: tuple[int, ...], picture: tuple[int, ...]) -> None:
    (block,) = read(_file(tmp_path, images=np.zeros(shape, np.uint8), labels=np.array([1, 2])), "series")
    assert block.columns[0][0].shape == picture


def test_where_no_label_is_asked_for(tmp_path: Path) -> None:
    (rows,) = series_rows(_file(tmp_path, images=np.zeros((2, 4, 5))), labelled=False)
    assert len(rows.lines) == 2


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"values": np.zeros((2, 3))}, r"x\.npz: no array 'labels'; there are values"),
        ({"labels": np.zeros(2)}, r"x\.npz: no array 'values'"),
        ({"values": np.zeros(2), "labels": np.zeros(2)}, r"values should be numbers of shape \(series, steps"),
        ({"images": np.zeros((2, 3)), "labels": np.zeros(2)}, r"images should be numbers of shape \(pictures"),
        ({"values": np.zeros((2, 3)), "labels": np.zeros(3)}, r"labels should have one for each of 2"),
        ({"values": np.full((1, 3), np.inf), "labels": np.zeros(1)}, r"x\.npz:1: an infinite reading"),
        (
            {"values": np.zeros((1, 3)), "labels": np.zeros(1), "lengths": np.array([4])},
            r"x\.npz:1: a length of 4, where there are 3 steps",
        ),
        ({"values": np.array([[1], [1, 2]], object), "labels": np.zeros(2)}, r"which is not unpickled"),
    ],
)
def test_faults(tmp_path: Path, arrays: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        list(read(_file(tmp_path, **arrays), "series"))


def test_another_name_is_said_in_the_settings(tmp_path: Path) -> None:
    corpus = _file(tmp_path, motion=np.zeros((1, 2, 2)), who=np.array(["me"]))
    (block,) = read(corpus.model_copy(update={"source": "motion", "target": "who"}), "series")
    assert block.columns[1] == ["me"]


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    corpus = _file(tmp_path, values=np.zeros((9, 3)), labels=np.zeros(9))
    path = tmp_path / "x.npz"
    whole = path.read_bytes()
    damaged = "the file ends too early, or is damaged; copy it again, or save it again"
    for content, said in (
        (whole[:-40], damaged),
        (whole[: len(whole) // 2], damaged),
        (b"PK nonsense", "no NumPy file; save it with numpy.savez"),
        (b"", "an empty file; save it with numpy.savez"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            list(read(corpus, "series"))
        assert str(caught.value) == f"{path}: {said}"
