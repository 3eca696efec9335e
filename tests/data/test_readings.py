"""Scales come of training alone, survive a file, and what is missing is filled as the settings say."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqloom.data.readings import Form, Readings, ReadingsSettings, series_text
from seqloom.settings import UserError

NAN = float("nan")
A, B = np.array([[1.0, 100.0], [3.0, 100.0]]), np.array([[5.0, 100.0], [NAN, 100.0], [7.0, 100.0]])


def _readings(scale: str = "standard", missing: str = "mean") -> Readings:
    return Readings.train(ReadingsSettings(scale=scale, missing=missing), [A, B])  # type: ignore[arg-type]


def test_each_channel_has_mean_0_and_deviation_1_in_training() -> None:
    readings = _readings()
    assert readings.mean_C == (4.0, 100.0)
    assert_allclose(readings.deviation_C, (np.sqrt(5.0), 1.0))  # a channel that never changes is not divided
    rows = readings.encode([A, B])
    assert rows.lengths_B.tolist() == [2, 3]
    assert_allclose(rows.values_N[:, 0].mean(), 0.0, atol=1e-7)
    assert rows.values_N.dtype == np.float32
    assert (rows.values_N[:, 1] == 0).all()


def test_the_scale_does_not_come_of_what_is_encoded() -> None:
    far = _readings().encode([np.array([[4.0 + 5 * np.sqrt(5.0), 100.0]])])
    assert_allclose(far[0], [[5.0, 0.0]], rtol=1e-6)


def test_large_numbers_lose_no_digits() -> None:
    x = 1e9 + np.array([[0.0], [1.0], [2.0]])
    readings = Readings.train(ReadingsSettings(), [x, x + 3])
    assert_allclose(readings.deviation_C, np.std(np.arange(6)), rtol=1e-6)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("mean", [[5.0], [4.0], [7.0]]),
        ("previous", [[5.0], [5.0], [7.0]]),
        ("mark", [[5.0], [4.0], [7.0]]),
    ],
)
def test_what_stands_for_a_missing_reading(missing: str, expected: list[list[float]]) -> None:
    readings = _readings(missing=missing)
    row = readings.encode([B])[0]
    assert_allclose(readings.decode(row)[:, :1], expected, rtol=1e-6)
    assert row.shape[1] == len(readings) == (4 if missing == "mark" else 2)
    if missing == "mark":
        assert row[:, 2:].tolist() == [[0, 0], [1, 0], [0, 0]]


def test_missing_from_the_first_step_on_there_is_no_previous_one() -> None:
    row = _readings(missing="previous").encode([np.array([[NAN, 100.0], [3.0, 100.0]])])[0]
    assert row[0, 0] == 0


def test_each_series_by_itself() -> None:
    row = _readings("series").encode([np.array([[10.0, 5.0], [20.0, 5.0]])])[0]
    assert_allclose(row, [[-1, 0], [1, 0]])


def test_as_they_are() -> None:
    assert_allclose(_readings("none").encode([A])[0], A)


def test_there_and_back(tmp_path: Path) -> None:
    readings = Readings.train(ReadingsSettings(missing="mark"), [A, B], ("x", "y"))
    readings.save(tmp_path / "readings.json")
    again = Readings.load(tmp_path / "readings.json")
    assert again == readings
    assert again.fingerprint == readings.fingerprint
    assert _readings().fingerprint != readings.fingerprint


@pytest.mark.parametrize("text", ["[]", "{}", '{"settings": {}, "names": ["a"], "mean_C": [], "deviation_C": []}'])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "readings.json").write_text(text)
    with pytest.raises(UserError, match=r"readings\.json: not the scales of readings"):
        Readings.load(tmp_path / "readings.json")


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.zeros((2, 3)), "3 readings at each step, but 2 are expected"),
        (np.zeros((2, 2, 2)), "a picture of 2 columns, but a series is expected"),
        (np.array([[0, 1], [2, NAN]]), "step 2 has no reading of channel y; .*readings.missing=mean"),
    ],
)
def test_misfits(x: np.ndarray, expected: str) -> None:
    form = Form.of(A, ("x", "y"), ReadingsSettings())
    assert form.misfit(A) is None
    wrong = form.misfit(x)
    assert wrong is not None
    with pytest.raises(UserError, match=expected):
        raise UserError(f"{wrong.what}; {wrong.fix}")


def test_pictures_are_read_line_by_line() -> None:
    picture = np.arange(12.0).reshape(2, 3, 2)
    readings = Readings.train(ReadingsSettings(scale="none"), [picture], columns=3)
    assert readings.encode([picture])[0].tolist() == picture.reshape(6, 2).tolist()
    assert series_text(picture) == "2 × 3 pixels of 2 readings: 0, 1"


def test_a_reading_of_0_is_shown_as_0() -> None:
    """Not as what single precision leaves of it: 1.498e-06, the first pixel of nearly every picture."""
    picture = np.array([[[0.0], [11]], [[12], [5]]])
    readings = Readings.train(ReadingsSettings(), [picture], columns=2)
    said = series_text(readings.decode(readings.encode([picture])[0]), 2)
    assert said == "2 × 2 pixels of 1 reading: 0"


def test_nothing_to_learn_from() -> None:
    with pytest.raises(UserError, match="no readings to learn from"):
        Readings.train(ReadingsSettings(), [])
