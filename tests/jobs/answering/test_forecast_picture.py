"""Forecasts as pictures."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from seqloom.jobs.answering.forecast_picture import MOST, forecast_svg
from seqloom.jobs.answering.forecasting import Forecast

SVG = "{http://www.w3.org/2000/svg}"


def forecast(columns: int = 1, levels: tuple[float, ...] = (0.1, 0.5, 0.9), came: bool = False) -> Forecast:
    times = np.datetime64("2024-01-01", "us") + np.arange(30) * np.timedelta64(1, "D")
    said_HCQ = np.sort(np.random.default_rng(0).normal(size=(6, columns, 1 + len(levels))), -1)
    before_TC = np.random.default_rng(1).normal(size=(24, columns))
    before_TC[3] = np.nan
    return Forecast(
        "<&>",
        tuple(f"c{at}" for at in range(columns)),
        levels,
        tuple(map(str, times[24:])),
        times[24:],
        said_HCQ,
        times[:24],
        before_TC,
        before_TC[:6] if came else None,
    )


def paths(svg: str) -> list[tuple[str, str]]:
    return [(one.get("class", ""), one.get("d", "")) for one in ElementTree.fromstring(svg).iter(f"{SVG}path")]


def test_lines_and_bands() -> None:
    drawn = paths(forecast_svg([forecast(came=True)], "a < b"))
    assert [kind for kind, _ in drawn if kind.startswith(("line", "band"))] == ["band b", "line a", "line c", "line b"]
    was = next(d for kind, d in drawn if kind == "line a")
    assert (was.count("M"), was.count("L")) == (1, 17)  # three horizons of the past, from its first value on


def test_a_missing_value_is_a_gap() -> None:
    one = forecast()
    one.before_TC[10] = np.nan
    was = next(d for kind, d in paths(forecast_svg([one])) if kind == "line a")
    assert (was.count("M"), was.count("L")) == (2, 15)


def test_a_value_between_missing_ones_is_a_dot() -> None:
    one = forecast()
    one.before_TC[[10, 12]] = np.nan
    svg = forecast_svg([one])
    was = next(d for kind, d in paths(svg) if kind == "line a")
    assert (was.count("M"), was.count("L")) == (2, 13)
    assert [dot.get("class") for dot in ElementTree.fromstring(svg).iter(f"{SVG}circle")] == ["dot a"]


def test_a_forecast_of_one_step_can_be_seen() -> None:
    one = forecast()
    svg = forecast_svg([replace(one, times_H=one.times_H[:1], said_HCQ=one.said_HCQ[:1])])
    assert "dot b" in [dot.get("class") for dot in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    was = next(d for kind, d in paths(svg) if kind == "line a")
    assert was.count("L") == 11  # three horizons of the past would be three steps
    band = next(d for kind, d in paths(svg) if kind == "band b")
    assert len({place.split()[0] for place in band.strip("MZ").split("L")}) == 2


def test_a_band_for_each_pair_of_quantiles() -> None:
    drawn = paths(forecast_svg([forecast(levels=(0.05, 0.25, 0.5, 0.75, 0.95))]))
    assert sum(kind == "band b" for kind, _ in drawn) == 2
    assert not [kind for kind, _ in paths(forecast_svg([forecast(levels=())])) if kind == "band b"]


def test_of_many_columns_the_first_are_drawn_and_the_rest_counted() -> None:
    svg = forecast_svg([forecast(columns=MOST + 3)], "title")
    assert sum(kind == "line b" for kind, _ in paths(svg)) == MOST
    assert f"title ({MOST} of {MOST + 3} columns)" in svg


def test_times_stand_below() -> None:
    words = [one.text for one in ElementTree.fromstring(forecast_svg([forecast()])).iter(f"{SVG}text")]
    assert "2024-01-30" in words
    assert "<&>: c0" in words


def test_series_that_end_at_other_times_each_have_theirs() -> None:
    one, later = forecast(), forecast()
    day = np.timedelta64(1, "D")
    later = replace(later, times_T=later.times_T + 100 * day, times_H=later.times_H + 100 * day)
    for drawn, expected in (([one, one], ["2024-01-30"]), ([one, later], ["2024-01-30", "2024-05-09"])):
        svg = ElementTree.fromstring(forecast_svg(drawn))
        words = [text.text for text in svg.iter(f"{SVG}text")]
        assert [word for word in words if word in ("2024-01-30", "2024-05-09")] == expected
