"""Times of many ways of writing; what cannot be read is told with its line."""

import numpy as np
import pytest

from seqloom.data.reading.faults import DataError
from seqloom.data.series.timestamps import looks_like_time, parse_times


@pytest.mark.parametrize(
    "cells",
    [
        ["2016-07-01 00:00:00", "2016-07-01 01:00:00"],
        ["2016-07-01T00:00", "2016-07-01T01:00"],
        ["2016-07-01", "2016-07-02"],
        ["2016-07-01T00:00:00Z", "2016-07-01T01:00:00Z"],
        ["2016-07-01 00:00+01:00", "2016-07-01 01:00+01:00"],
        ["01.07.2016 00:00", "01.07.2016 01:00"],
        ["2016-07", "2016-08"],
        ["2016", "2017"],
        ["1467331200", "1467334800"],
        ["1467331200000", "1467334800000"],
        ["2016Q3", "2016Q4"],
        ["Q3 2016", "Q4 2016"],
        ["2016-Q3", "2017-Q1"],
        ["Jul 2016", "Aug 2016"],
        ["July 2016", "August 2016"],
        ["Jul-2016", "Aug-2016"],
        ["01 Jul 2016", "02 Jul 2016"],
        ["01-Jul-2016", "02-Jul-2016"],
        ["July 01, 2016", "July 02, 2016"],
        ["07/01/2016 12:00 AM", "07/13/2016 11:00 PM"],
    ],
)
def test_times_are_written_as_they_were_read(cells: list[str]) -> None:
    times, style = parse_times(cells, [2, 3], "a.csv", "date")
    assert times[0] == np.datetime64("2016-07-01" if len(cells[0]) > 4 else "2016-01-01")
    assert style.write(times) == cells


def test_other_known_forms() -> None:
    times, style = parse_times(["1990/1/1 0:00", "1990/1/2 0:00"], [2, 3], "a.csv", "date")
    assert np.diff(times).tolist() == [np.timedelta64(1, "D")]
    assert style.write(times) == ["1990/01/01 00:00", "1990/01/02 00:00"]


def test_a_month_whose_short_name_is_its_long_one() -> None:
    for months in ["May 2020", "June 2020"], ["May 2020", "Jun 2020"]:
        times, style = parse_times(months, [2, 3], "a.csv", "month")
        assert times[1] == np.datetime64("2020-06-01")
        assert style.write(times) == months


def test_a_day_above_twelve_tells_what_comes_first() -> None:
    times, _ = parse_times(["1/2/2020", "13/2/2020"], [2, 3], "a.csv", "day")
    assert times[0] == np.datetime64("2020-02-01")
    times, _ = parse_times(["1/2/2020", "1/13/2020"], [2, 3], "a.csv", "day")
    assert times[0] == np.datetime64("2020-01-02")
    with pytest.raises(
        DataError, match=r"a\.csv:2: day: '1/2/2020': does the day or the month come first\? --set task\."
    ):
        parse_times(["1/2/2020", "2/2/2020"], [2, 3], "a.csv", "day")
    times, _ = parse_times(["1/2/2020", "2/2/2020"], [2, 3], "a.csv", "day", "%m/%d/%Y")
    assert times[1] == np.datetime64("2020-02-02")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2020-01-01", "soon"], r"a\.csv:3: date: 'soon' is no time as the rows before it \(ISO 8601\); write it as"),
        (["2020-01-01", ""], r"a\.csv:3: date: the time is missing; fill it in, or remove the row"),
        (
            ["yesterday", "soon"],
            r"a\.csv:2: date: 'yesterday' is no time that is known; write 2024-12-31 23:00, or say how",
        ),
        (["12345", "12346"], r"a\.csv:2: date: '12345' is no time"),
        (
            ["2020-03-29T01:00+01:00", "2020-03-29T03:00+02:00"],
            r"a\.csv:3: date: '2020-03-29T03:00\+02:00' is in zone \+02:00, but a\.csv:2 is in zone \+01:00; write all",
        ),
        (["2020-03-29T01:00Z", "2020-03-29T03:00"], r"a\.csv:3: .* is without a zone, but a\.csv:2 is in zone Z"),
    ],
)
def test_what_is_no_time_is_told_with_its_line(cells: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_times(cells, [2, 3], "a.csv", "date")


def test_numbers_do_not_look_like_times() -> None:
    assert looks_like_time(["2020-01-01", "2020-01-02"])
    assert looks_like_time(["31.12.2020", ""])
    assert not looks_like_time(["20200101", "20200102"])
    assert not looks_like_time(["1.5", "2.5"])
    assert not looks_like_time(["hello"])


@pytest.mark.parametrize(
    ("cells", "forms"),
    [
        (["01.03.24", "31.03.24"], "'%d.%m.%y'"),
        (["01.03.24 10:30", "31.03.24 11:30"], "'%d.%m.%y %H:%M'"),
        (["01/03/24", "31/03/24"], "'%d/%m/%y'"),
        (["01/03/24", "02/03/24"], "'%d/%m/%y' or '%m/%d/%y'"),
        (["Jan-80", "May-80"], "'%b-%y'"),
        (["01-May-80", "02-May-80"], "'%d-%b-%y'"),
        (["31-03-2024", "01-04-2024"], "'%d-%m-%Y'"),
        (["24-03-31", "24-04-01"], "'%y-%m-%d' or '%d-%m-%y'"),
    ],
)
@pytest.mark.parametrize("form", [None, "%A"])
def test_a_form_that_fits_is_advised_and_reads_the_file(cells: list[str], forms: str, form: str | None) -> None:
    what = "is no time that is known" if form is None else f"is not as task.time_format says ({form})"
    with pytest.raises(DataError) as caught:
        parse_times(cells, [2, 3], "a.csv", "date", form)
    say = f"say how it is written: --set task.time_format={forms}"
    assert str(caught.value) == f"a.csv:2: date: {cells[0]!r} {what}; {say}"
    times, style = parse_times(cells, [2, 3], "a.csv", "date", forms.split("'")[1])
    assert style.write(times) == cells


@pytest.mark.parametrize(
    ("cells", "form", "message"),
    [
        (["2024-02-30", "2024-03-01"], None, "a.csv:2: date: '2024-02-30': there is no such day; mend it"),
        (["2024-02-28", "2024-02-30"], None, "a.csv:3: date: '2024-02-30': there is no such day; mend it"),
        (["28.02.24", "30.02.24"], "%d.%m.%y", "a.csv:3: date: '30.02.24': there is no such day; mend it"),
        (
            ["28.02.24", "soon"],
            "%d.%m.%y",
            "a.csv:3: date: 'soon' is not as task.time_format says (%d.%m.%y); mend the time, or the setting",
        ),
        (
            ["2024-02-28", "01.03.24"],
            None,
            "a.csv:3: date: '01.03.24' is no time as the rows before it (ISO 8601); write it as these are",
        ),
    ],
)
def test_no_form_is_advised_that_does_not_fit(cells: list[str], form: str | None, message: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_times(cells, [2, 3], "a.csv", "date", form)
    assert str(caught.value) == message
