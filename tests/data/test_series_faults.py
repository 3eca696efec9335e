"""Series of another form than the others: the odd one is told, or left out and counted with what was left out."""

import numpy as np
import pytest

from seqloom.data.reading import Block, DataError, Skipped
from seqloom.data.readings import Form, ReadingsSettings
from seqloom.data.series_faults import fitting, usual_form


def _block(*columns: int, **more: object) -> Block:
    """Pictures of three lines, so many pixels wide."""
    pictures = [np.zeros((3, width, 1), np.float32) for width in columns]
    return Block("pics.npz", range(1, len(pictures) + 1), (pictures, ["?"] * len(pictures)), **more)  # type: ignore[arg-type]


FOUR = Form(("1",), 4)


def test_the_form_is_that_of_most() -> None:
    assert usual_form(_block(5, 4, 4), ReadingsSettings()) == FOUR


def test_pictures_in_colours_among_grey_ones() -> None:
    grey, coloured = np.ones((3, 4, 1), np.float32), np.zeros((3, 4, 3), np.float32)
    block = Block("pics", range(1, 4), ([grey, grey, coloured], ["?"] * 3))
    form = usual_form(block, ReadingsSettings())
    assert form == Form(("1", "2", "3"), 4)
    assert [x.tolist() for x in fitting(block, form).columns[0]] == [np.ones((3, 4, 3)).tolist()] * 2 + [
        coloured.tolist()
    ]


def test_a_coloured_picture_where_grey_ones_are_read() -> None:
    coloured = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [7, 7, 7]]], np.float32)
    block = Block("pics", range(1, 2), ([coloured], ["?"]))
    (x,) = fitting(block, FOUR).columns[0]
    assert x.dtype == np.float32
    assert x[..., 0].tolist() == [[76, 150, 29, 7]]  # as Pillow's convert("L") has them


def test_of_one_odd_picture_that_comes_first_the_odd_one_is_told() -> None:
    block = _block(5, 4, 4)
    with pytest.raises(DataError, match=r"^pics.npz:1: a picture of 5 columns, but a picture of 4 columns is expected"):
        fitting(block, usual_form(block, ReadingsSettings()))


def test_what_was_left_out_before_stays_counted() -> None:
    before = Skipped({"no image": 2}, {"no image": ("pics.npz:7", "pics.npz:8")})
    left = fitting(_block(5, 4, 6, 4, report=before, skipped=2), FOUR, "skip")
    assert [x.shape[1] for x in left.columns[0]] == [4, 4]
    assert list(left.lines) == [2, 4]
    assert left.report.counts == {"no image": 2, "another size of picture": 2}
    assert left.report.places["another size of picture"] == ("pics.npz:1", "pics.npz:3")
    assert left.skipped == 4
    assert before.counts == {"no image": 2}


def test_a_block_of_one_form_stays_as_it_is() -> None:
    block = _block(4, 4)
    assert fitting(block, FOUR) is block


@pytest.mark.parametrize("value", [1e31, -1e31])
def test_a_reading_that_is_too_large(value: float) -> None:
    """By the line of its step, where each has one."""
    x_TC = np.array([[1.0, 2.0], [3.0, value]])
    block = Block("a.csv", [2], ([x_TC], ["?"]), by_steps=True)
    form = Form(("a", "b"))
    with pytest.raises(DataError) as caught:
        fitting(block, form)
    assert str(caught.value) == (
        f"a.csv:3: step 2 has {value:g}, beyond 1e+30, of channel b; give the channel in another unit, "
        "or pass --skip-bad"
    )
    assert fitting(block, form, "skip").report.counts == {"too large a number": 1}
    assert fitting(Block("a.csv", [2], ([x_TC / 10], ["?"])), form).lines == [2]
