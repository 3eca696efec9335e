"""Numbers out of cells and of JSON; what is none is told with its place."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_equal

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import numbers_of, series_of

NAN = float("nan")


def test_cells() -> None:
    assert_equal(numbers_of(["1", " -2.5e3", "+.5"]), np.array([1, -2500, 0.5]))
    assert_equal(numbers_of(["1", "", "?", "NaN", "n/a"]), np.array([1, NAN, NAN, NAN, NAN]))


@pytest.mark.parametrize("cell", ["abc", "inf", "1,5", "1_000", "0x10", "1e999"])
def test_cells_that_are_no_number(cell: str) -> None:
    broken = numbers_of(["1", cell])
    assert isinstance(broken, Broken)
    assert broken.what == f"value 2 is {cell!r}, no number"


def test_steps() -> None:
    assert_equal(series_of([[1, 2.5], [None, 4]]), np.array([[1, 2.5], [NAN, 4]]))
    assert_equal(series_of([1, 2, 3]), np.array([[1.0], [2.0], [3.0]]))
    assert np.asarray(series_of([])).size == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("abc", "should be a list of steps, but are 'abc'"),
        ([[1, 2], [3]], "step 2 has 1 reading, but step 1 has 2"),
        ([[], []], "step 1 has no readings"),
        ([[1], ["x"]], "step 2 is 'x', no number"),
        ([[1], [True]], "step 2 is true, no number"),
        ([[[1]]], "step 1 is a list of 1, no number"),
        ([[float("inf")]], "step 1 is inf, no number"),
        ([[10**400]], "a number that is too large"),
    ],
)
def test_steps_that_are_none(value: Any, expected: str) -> None:
    broken = series_of(value)
    assert isinstance(broken, Broken)
    assert expected in broken.what
