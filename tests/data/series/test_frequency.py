"""How far steps are apart, and the times that follow."""

import numpy as np
import pytest

from seqloom.data.series.frequency import Frequency, frequency_of


@pytest.mark.parametrize(
    ("times", "name", "after", "season"),
    [
        (["2020-01-01T00", "2020-01-01T01", "2020-01-01T02"], "1 hour", "2020-01-01T03", 24),
        (["2020-01-01T00:00", "2020-01-01T00:15", "2020-01-01T01:00"], "15 minutes", "2020-01-01T01:15", 96),
        (["2020-01-01", "2020-01-08", "2020-01-15"], "1 week", "2020-01-22", 52),
        (["2020-01-01", "2020-02-01", "2020-03-01"], "1 month", "2020-04-01", 12),
        (["2020-01-31", "2020-02-29", "2020-03-31"], "1 month", "2020-04-30", 12),
        (["2020-01-15", "2020-04-15", "2020-07-15"], "3 months", "2020-10-15", 4),
        (["2018-01-01", "2019-01-01", "2020-01-01"], "1 year", "2021-01-01", 1),
        (["2020-01-01", "2020-01-02", "2020-01-03"], "1 day", "2020-01-04", 7),
    ],
)
def test_steps_and_what_follows(times: list[str], name: str, after: str, season: int) -> None:
    given = np.array(times, "datetime64[us]")
    found = frequency_of(given)
    assert found is not None
    assert (found.name, found.season) == (name, season)
    assert found.after(given[-1], np.array([1]))[0] == np.datetime64(after)
    np.testing.assert_array_equal(found.places(given, given[0]) % 1, 0)


def test_working_days_have_no_weekends() -> None:
    days = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[D]")
    given = days[np.is_busday(days)].astype("datetime64[us]")
    found = frequency_of(given)
    assert found == Frequency(working=True)
    assert found.season == 5
    friday = np.datetime64("2024-02-02", "us")
    assert found.after(friday, np.array([1, 2])).astype("datetime64[D]").tolist() == [
        np.datetime64("2024-02-05").item(),
        np.datetime64("2024-02-06").item(),
    ]
    np.testing.assert_array_equal(found.places(given, given[0]), np.arange(len(given)))


def test_a_time_between_two_steps_is_no_whole_number() -> None:
    given = np.array(["2020-01-01", "2020-02-01", "2020-02-15"], "datetime64[us]")
    assert Frequency(months=1).places(given, given[0])[2] % 1
    assert Frequency(micros=3_600_000_000).places(given[:1] + np.timedelta64(30, "m"), given[0])[0] == 0.5


def test_one_step_has_no_frequency() -> None:
    assert frequency_of(np.array(["2020-01-01"], "datetime64[us]")) is None
