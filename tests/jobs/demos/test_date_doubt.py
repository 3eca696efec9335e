from datetime import date

import pytest

from seqloom.jobs.demos.date_doubt import Names, full_year, key, plain, readings
from seqloom.jobs.demos.date_locales import LANGUAGES, month_names


@pytest.fixture(scope="module")
def names() -> Names:
    return Names(LANGUAGES)


@pytest.mark.parametrize(
    ("written", "year"),
    [
        (0, 2000),
        (49, 2049),
        (50, 1950),
        (99, 1999),
        (1950, 1950),
        (2049, 2049),
        (1949, None),
        (2050, None),
        (100, None),
    ],
)
def test_years(written: int, year: int | None) -> None:
    assert full_year(written) == year


@pytest.mark.parametrize(
    ("numbers", "dotted", "meant"),
    [
        ((3, 4, 2019), False, {date(2019, 4, 3), date(2019, 3, 4)}),
        ((3, 4, 2019), True, {date(2019, 4, 3)}),
        ((4, 4, 2019), False, {date(2019, 4, 4)}),
        ((13, 4, 2019), False, {date(2019, 4, 13)}),
        ((4, 13, 2019), False, {date(2019, 4, 13)}),
        ((2019, 4, 3), False, {date(2019, 4, 3)}),
        ((1, 2, 3), True, {date(2003, 2, 1), date(2001, 2, 3)}),
        ((14, 3, 98), True, {date(1998, 3, 14)}),
        ((98, 3, 14), True, {date(1998, 3, 14)}),
        ((20, 3, 14), True, {date(2014, 3, 20), date(2020, 3, 14)}),
        ((30, 2, 1999), False, set()),
        ((29, 2, 2000), False, {date(2000, 2, 29)}),
    ],
)
def test_what_numbers_could_mean(numbers: tuple[int, int, int], dotted: bool, meant: set[date]) -> None:
    assert readings(numbers, dotted) == meant


def test_marks_count_in_other_scripts_only() -> None:
    assert plain("Łódź, š, ự, й, ά, มี") == "Lodz, s, u, й, ά, มี"
    assert key("Sept.") == key("SEPT") == "sept"
    assert key("août") == key("AOUT")


def test_false_friends(names: Names) -> None:
    assert names.false_friends("pl")["listopada"] == ["hr"]
    assert names.false_friends("hr")["lip"] == ["pl"]
    assert {code for code in LANGUAGES if names.false_friends(code)} == {"hr", "pl", "cs"}


def test_a_weekday_that_tells_the_language(names: Names) -> None:
    assert names.tells("niedziela", ["hr"])
    assert not names.tells("pon.", ["hr"])  # Monday in both


def test_near_names(names: Names) -> None:
    assert names.near("juni") >= {6, 7}  # juli
    assert names.near("septembr") == {9}
    assert names.near("Ocotber") == {10}
    assert names.near("xyzzy") == set()


def test_every_name_is_near_itself(names: Names) -> None:
    for code in LANGUAGES:
        for month, name in enumerate(month_names(code, alone=False, wide=True), start=1):
            assert month in names.near(name)
