import subprocess
import sys
from datetime import date
from typing import Literal

import pytest
from babel import Locale
from babel.dates import format_date

from seqloom.jobs.demos.date_locales import (
    ISO,
    LANGUAGES,
    STAND_ALONE_DAYS,
    STAND_ALONE_MONTHS,
    Pattern,
    compiled,
    language,
    month_names,
)
from seqloom.jobs.demos.dates import day_of

DATES = [date(1950, 1, 1), date(1987, 11, 30), date(2004, 2, 29), date(2049, 12, 31)]
Length = Literal["full", "long", "medium", "short"]
LENGTHS: tuple[Length, ...] = ("full", "long", "medium", "short")


def shown(pattern: Pattern, day: date) -> str:
    places = day_of(day).places
    return "".join(piece.table[places[piece.place]] for piece in pattern.pieces)


@pytest.mark.parametrize("code", LANGUAGES)
def test_dates_are_written_as_babel_writes_them(code: str) -> None:
    locale = Locale.parse(code, sep="-")
    for length in LENGTHS:
        pattern = compiled(locale.date_formats[length].pattern, code)
        assert [shown(pattern, day) for day in DATES] == [format_date(day, length, locale) for day in DATES]


def test_there_are_many_languages() -> None:
    assert len({code.partition("-")[0] for code in LANGUAGES}) == 39


@pytest.mark.parametrize("code", [*LANGUAGES, ISO])
def test_every_pattern_shows_the_whole_date_in_an_order_that_is_watched(code: str) -> None:
    patterns = [*language(code).latin, *language(code).native]
    assert len(set(patterns)) >= 3
    for pattern in patterns:
        kinds = {piece.kind.partition(" ")[0] for piece in pattern.pieces}
        assert kinds >= {"year", "month", "day"}
        assert pattern.order in (("", "dmy", "ymd") if pattern.dotted else ("", "dmy", "mdy", "ymd"))
        assert (pattern.order == "mdy") <= (code == "en-US")


def test_own_digits() -> None:
    assert shown(compiled("d MMMM y", "fa", "۰"), date(2019, 5, 3)) == "۳ مهٔ ۲۰۱۹"
    assert shown(compiled("dd/MM/yy", "mr", "०"), date(1998, 5, 30)) == "३०/०५/९८"


def test_thai_years_are_gregorian() -> None:
    for pattern in language("th").latin:
        assert shown(pattern, date(1998, 5, 30)).rstrip().endswith("98")


@pytest.mark.parametrize(
    ("code", "text", "first", "others"),
    [
        ("en-GB", "ddd MMMM y", "1st May 2019", "2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 30th 31st"),
        ("fr", "ddd MMMM y", "1er mai 2019", "2 3 4 11 12 13 21 22 23 30 31"),
        ("pt", "ddd 'de' MMMM 'de' y", "1º de maio de 2019", "2 3 4 11 12 13 21 22 23 30 31"),
    ],
)
def test_ordinals(code: str, text: str, first: str, others: str) -> None:
    pattern = compiled(text, code)
    assert shown(pattern, date(2019, 5, 1)) == first
    days = [shown(pattern, date(2019, 5, day)).split()[0] for day in (2, 3, 4, 11, 12, 13, 21, 22, 23, 30, 31)]
    assert " ".join(days) == others


def test_numbers_that_only_their_order_tells_apart() -> None:
    assert (compiled("M/d/yy", "en-US").order, compiled("M/d/yy", "en-US").dotted) == ("mdy", False)
    assert (compiled("E, d.MM.y 'г'.", "bg").order, compiled("E, d.MM.y 'г'.", "bg").dotted) == ("dmy", True)
    assert compiled("d/M/y 'г'.", "bg").dotted is False
    assert compiled("y年M月d日", "ja").order == ""
    assert compiled("d. MMM y", "de").order == ""


def test_a_language_without_forms_that_stand_alone_is_not_given_anothers() -> None:
    """Babel hands the first language's names to all later ones that have none of their own."""
    month_names("he", alone=True, wide=True)
    assert month_names("fr", alone=True, wide=True)[0] == "janvier"
    assert month_names("pl", alone=True, wide=True)[0] == "styczeń"


def test_all_languages_with_forms_that_stand_alone_are_known() -> None:
    """Each in a fresh process, for Babel's sake; only those that could be wrong."""
    code = (
        "import sys; from babel import Locale\n"
        "for name in sys.argv[1:]:\n"
        "    locale = Locale.parse(name, sep='-')\n"
        "    for table in (locale.months, locale.days):\n"
        "        a, b = dict(table['format']['wide']), dict(table['stand-alone']['wide'])\n"
        "        print(int(a != b), end='')\n"
    )

    def own(name: str) -> tuple[bool, bool]:
        done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
        return done.stdout[0] == "1", done.stdout[1] == "1"

    for name in ("fi", "hr"):
        assert own(name) == (name in STAND_ALONE_MONTHS, name in STAND_ALONE_DAYS)
    assert own("ro") == (False, False)
