"""Hours, days and months as points on circles."""

import numpy as np

from seqloom.data.series.calendar import calendar


def test_circles_close() -> None:
    hours = np.arange("2024-01-01T00", "2024-01-03T00", dtype="datetime64[h]").astype("datetime64[us]")
    sine, cosine = calendar(hours, ["hour"]).T
    np.testing.assert_allclose(sine**2 + cosine**2, 1)
    np.testing.assert_allclose((sine[0], cosine[6], sine[6]), (0, 0, 1), atol=1e-12)
    np.testing.assert_allclose(sine[:24], sine[24:], atol=1e-12)


def test_weekdays_begin_on_monday() -> None:
    monday = np.array(["2024-01-01", "2024-01-08", "2024-01-07"], "datetime64[us]")
    sine, cosine = calendar(monday, ["weekday"]).T
    np.testing.assert_allclose(cosine[:2], 1)
    np.testing.assert_allclose(sine[2], np.sin(2 * np.pi * 6 / 7))


def test_parts_stand_side_by_side() -> None:
    times = np.array(["2024-01-01", "2024-12-31"], "datetime64[us]")
    assert calendar(times, ["month", "day", "minute"]).shape == (2, 6)
    assert calendar(times, []).shape == (2, 0)
    assert abs(calendar(times, ["month"])[1, 0]) < 0.05  # the year's last day is beside its first
