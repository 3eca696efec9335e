"""Scales of training parts."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.data.series.columns import Columns
from seqloom.data.series.frequency import Frequency
from seqloom.data.series.table import Series
from seqloom.data.series.timestamps import TimeStyle
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.scales import Scale, Scales, constant, measured, measured_beside

HOUR = Frequency(micros=3_600_000_000)


def series(values: list[list[float]], name: str = "") -> Series:
    times = np.datetime64("2024-01-01", "us") + np.arange(len(values)) * np.timedelta64(1, "h")
    return Series(name, "a.csv", times, np.array(values, float), np.arange(2, len(values) + 2))


def test_missing_values_do_not_count() -> None:
    scale = measured(np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]]), season=1)
    assert scale.mean_C == (2.0, 5.0)
    assert scale.deviation_C == (1.0, 1.0)  # a column that never changes is not divided by nothing
    assert scale.naive_C == (0.0, 0.0)


def test_the_naive_error_is_that_of_a_season_ago() -> None:
    assert measured(np.array([[1.0], [2.0], [4.0], [8.0]]), season=2).naive_C == (pytest.approx((3 + 6) / 2),)


def test_columns_beside_are_scaled_over_all_series() -> None:
    found = measured_beside([np.array([[0.0], [2.0]]), np.array([[4.0], [6.0]])])
    assert found == ((3.0, pytest.approx(np.sqrt(5))),)


def test_constant_columns() -> None:
    one, other = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[3.0, 3.0], [3.0, 4.0]])
    assert list(constant([one])) == [0, 1]
    assert list(constant([one, other])) == [0]


def test_what_is_kept_is_what_is_loaded(tmp_path: Path) -> None:
    columns = Columns("date", "shop", ("a",), ("b",), ("c",))
    of = {"x": Scale((1.0,), (2.0,), (3.0,)), "y": Scale((4.0,), (5.0,), (6.0,))}
    scales = Scales(columns, HOUR, TimeStyle(), 24, of, ((0.0, 1.0), (2.0, 4.0)), gaps=True, parts=("hour",))
    folder = tmp_path / "vocabulary"
    Codecs.of_series(scales).save(folder)
    loaded = Codecs.load(folder)
    assert loaded.scales == scales
    assert loaded.fingerprint == scales.fingerprint
    assert scales.known == 3


def test_a_series_is_scaled_by_its_own_training_part() -> None:
    columns = Columns("date", "shop", ("a",), ("b",), ("c",))
    of = {"x": Scale((10.0,), (2.0,), (1.0,))}
    scales = Scales(columns, HOUR, TimeStyle(), 24, of, ((0.0, 1.0), (2.0, 4.0)), parts=("hour",))
    known, was_known = scales.scale_of(series([[12.0, 1.0, 6.0]], "x"))
    assert was_known
    made = scales.scaled(series([[12.0, 1.0, 6.0]], "x"), known)
    assert made.targets_TC.tolist() == [[1.0]]
    assert made.past_TP.tolist() == [[1.0]]
    np.testing.assert_allclose(made.known_TK, [[1.0, 0.0, 1.0]], atol=1e-6)  # the column, and midnight on its circle
    other, was_known = scales.scale_of(series([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]], "new"))
    assert not was_known
    assert (other.mean_C, other.deviation_C) == ((2.0,), (1.0,))
