"""The archive's .ts format."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_equal

from seqloom.data.reading import DataError, read, shape_of
from seqloom.data.reading.series_reader import series_rows
from seqloom.data.settings import Corpus

HEAD = "#a comment\n@problemName x\n@classLabel true up down\n@data\n"


def _file(tmp_path: Path, text: str) -> Corpus:
    (tmp_path / "x.ts").write_text(text, encoding="utf-8")
    return Corpus(files=(str(tmp_path / "x.ts"),))


def test_series_of_several_dimensions_and_unequal_length(tmp_path: Path) -> None:
    corpus = _file(tmp_path, HEAD + "1,2,3:4,5,6:up\n\n7,?:8,9:down\n")
    (block,) = read(corpus, "series")
    assert_equal(block.columns[0], [np.array([[1.0, 4], [2, 5], [3, 6]]), np.array([[7.0, 8], [np.nan, 9]])])
    assert block.columns[1] == ["up", "down"]
    assert list(block.lines) == [5, 7]
    assert shape_of(corpus) == "series"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + "1,2:3:up\n", r"x\.ts:5: dimension 2 has 1 steps, but dimension 1 has 2"),
        (HEAD + "1,a:up\n", r"x\.ts:5: dimension 1: value 2 is 'a', no number"),
        (HEAD + "1,2:left\n", r"x\.ts:5: the class 'left' is none of those that @classLabel names \(down, up\)"),
        (HEAD + "up\n", r"x\.ts:5: no readings before the class"),
        ("@classLabel false\n@data\n1,2\n", r"x\.ts:3: the series have no class"),
        ("@classLabel perhaps\n@data\n", r"x\.ts:1: should be @classLabel true"),
        ("@timeStamps true\n@data\n", r"x\.ts:1: series with a timestamp at each reading"),
        ("1,2:up\n", r"x\.ts:1: '1,2:up' stands before the line @data"),
        ("@classLabel true up\n", r"no line @data"),
    ],
)
def test_faults(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        list(read(_file(tmp_path, text), "series"))


def test_where_no_label_is_asked_for(tmp_path: Path) -> None:
    (rows,) = series_rows(_file(tmp_path, "@classLabel false\n@data\n1,2:3,4\n"), labelled=False)
    assert_equal(rows.columns[0][0], np.array([[1.0, 3], [2, 4]]))
