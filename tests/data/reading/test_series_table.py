"""Tables of readings: a row for each step, or for each series; every fault with its line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_equal

from seqloom.data.reading import Block, DataError, read, shape_of
from seqloom.data.settings import Corpus

STEPS = """series,time,x,y,label
a,0,1,10,walking
a,1,2,20,walking
b,0,3,30,running
"""


def _read(tmp_path: Path, text: str, name: str = "t.csv", bad: Any = "stop", **how: Any) -> Block:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (block,) = read(Corpus(files=(str(tmp_path / name),), **how), "series", bad)
    return block


def test_a_row_for_each_step(tmp_path: Path) -> None:
    block = _read(tmp_path, STEPS)
    assert_equal(block.columns[0], [np.array([[1.0, 10], [2, 20]]), np.array([[3.0, 30]])])
    assert block.columns[1] == ["walking", "running"]
    assert list(block.lines) == [2, 4]
    assert block.names == ("x", "y")


def test_tabs_and_timestamps_and_gaps(tmp_path: Path) -> None:
    text = "trial\ttimestamp\tx\tclass\n1\t2024-01-01\t\tup\n1\t2024-01-02\t5\tup\n"
    block = _read(tmp_path, text, "t.tsv")
    assert_equal(block.columns[0][0], np.array([[np.nan], [5]]))


def test_columns_by_name_and_number(tmp_path: Path) -> None:
    text = "what,who,when,x,noise\nup,a,0,1,9\nup,a,1,2,9\n"
    block = _read(tmp_path, text, series="who", time="3", target="what", features=("x",))
    assert_equal(block.columns[0][0], np.array([[1.0], [2.0]]))
    assert block.columns[1] == ["up"]


def test_a_row_for_each_series(tmp_path: Path) -> None:
    block = _read(tmp_path, "1,2,3,4,7\n5,6,7,8,9\n", step=2)
    assert_equal(block.columns[0][0], np.array([[1.0, 2], [3, 4]]))
    assert block.columns[1] == ["7", "9"]
    assert list(block.lines) == [1, 2]


def test_pixels_with_a_label_before_them(tmp_path: Path) -> None:
    block = _read(tmp_path, "label,pixel0,pixel1\n7,0,255\n1,3,4\n")
    assert_equal(block.columns[0][0], np.array([[0.0], [255.0]]))
    assert block.columns[1] == ["7", "1"]
    assert list(block.lines) == [2, 3]


def test_y_is_a_coordinate(tmp_path: Path) -> None:
    block = _read(tmp_path, "trial,time,x,y,movement\n1,0,1,2,up\n1,1,3,4,up\n")
    assert_equal(block.columns[0][0], np.array([[1.0, 2], [3, 4]]))
    assert block.columns[1] == ["up"]


def test_an_id_alone_is_that_of_a_row(tmp_path: Path) -> None:
    block = _read(tmp_path, "id,a,b,label\n1,5,6,up\n2,7,8,down\n")
    assert [len(x) for x in block.columns[0]] == [3, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STEPS.replace("2,20", "x,20"), r"t\.csv:3: 'x' in column x is no number"),
        (STEPS.replace("a,1", "a,0"), r"t\.csv:3: the time '0' comes twice in the series 'a'"),
        (STEPS.replace("a,0", "a,5"), r"t\.csv:3: the time '1' is earlier than the one before in the series 'a'"),
        (STEPS.replace("a,1", "a,soon"), r"t\.csv:3: 'soon' is neither a number nor a timestamp"),
        (STEPS.replace("a,1", "a,2024-01-01"), r"t\.csv:3: the time '2024-01-01' is of another kind"),
        (STEPS.replace("20,walking", "20,running"), r"t\.csv:3: the label is 'running', but the series 'a', .* line 2"),
        (STEPS + "a,9,1,1,walking\n", r"t\.csv:5: the series 'a' goes on here, but other series stand between"),
        (STEPS + "c,9,1,walking\n", r"t\.csv:5: expected 5 columns, found 4"),
        (STEPS + ",9,1,1,walking\n", r"t\.csv:5: the step names no series"),
        (STEPS.replace("running", ""), r"t\.csv:4: the label is empty"),
        ("1,2,3\n4,5\n", r"t\.csv:2: expected 3 columns, found 2"),
        ("1,2,up\n4,x,down\n", r"t\.csv:2: value 2 is 'x', no number"),
        ("1\n2\n", r"t\.csv:1: no column is left for readings"),
    ],
)
def test_faults(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        _read(tmp_path, text)


def test_readings_that_are_no_whole_steps(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv:1: 3 readings are no whole steps of 2"):
        _read(tmp_path, "1,2,3,up\n1,2,3,up\n", step=2)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv:1: no column 'labels'; did you mean 'label'"):
        _read(tmp_path, STEPS, target="labels")


def test_bad_series_are_left_out_and_counted(tmp_path: Path) -> None:
    block = _read(tmp_path, STEPS.replace("2,20", "x,20"), bad="skip")
    assert block.columns[1] == ["running"]
    assert block.report.counts == {"no number": 1}


@pytest.mark.parametrize("cell", ["inf", "x", "1.2.3"])
def test_a_cell_that_is_no_number_makes_no_other_table_of_it(tmp_path: Path, cell: str) -> None:
    """The cell is told, and not which column were the source."""
    steps = "".join(f"{name},{time},1,2,up\n" for name in "ab" for time in range(8))
    path = tmp_path / "t.csv"
    path.write_text("series,time,x,y,label\n" + steps.replace("a,3,1", f"a,3,{cell}"))
    assert shape_of(Corpus(files=(str(path),))) == "series"
    path.write_text("series,time,x,y,label\n" + steps.replace("1,2", "it was,so"))
    assert shape_of(Corpus(files=(str(path),))) != "series"
