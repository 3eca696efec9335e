import re
from collections import Counter
from datetime import date
from functools import cache
from random import Random
from typing import Any

import pytest
from babel import Locale
from babel.dates import tokenize_pattern

from seqloom.jobs.demos import Demo
from seqloom.jobs.demos.date_doubt import full_year, plain
from seqloom.jobs.demos.date_locales import ISO, LANGUAGES, YEARS, month_names, weekday_names
from seqloom.jobs.demos.dates import TEST_SHARE, VALID_SHARE, Writer, day_of, make_dates


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_dates(train=24_000)


@pytest.fixture(scope="module")
def clean() -> Demo:
    return make_dates(train=1, valid=1, test=1_000, slips=0)


def test_as_many_as_asked_for(demo: Demo) -> None:
    """So none was dropped in the end for having two answers: the rules against doubt leave none."""
    assert [len(demo.train), len(demo.valid), len(demo.test)] == [24_000, 1_000, 3_000]


def test_no_day_of_one_split_is_in_another(demo: Demo) -> None:
    trained, validated, tested = ({example.target for example in part} for part in (demo.train, demo.valid, demo.test))
    assert not trained & validated
    assert not trained & tested
    assert not validated & tested


def test_few_days_are_held_out() -> None:
    assert 0.08 <= TEST_SHARE + VALID_SHARE <= 0.12


def test_languages_are_there_equally_often(demo: Demo) -> None:
    for part in (demo.train, demo.valid, demo.test):
        counts = Counter(example.slice for example in part)
        assert set(counts) == {*LANGUAGES, ISO}
        assert max(counts.values()) - min(counts.values()) <= 1


def test_answers_are_dates_in_range(demo: Demo) -> None:
    years = {date.fromisoformat(example.target).year for example in demo.train}
    assert years == set(YEARS)


def test_no_source_is_there_twice_with_two_answers(demo: Demo) -> None:
    answers: dict[str, str] = {}
    for example in (*demo.train, *demo.valid, *demo.test):
        assert answers.setdefault(example.source, example.target) == example.target


def test_more_examples_than_texts_repeat_some() -> None:
    writer = Writer([ISO], 0, Random(1))
    examples = writer.examples([day_of(date(2019, 5, 3))], 9)
    assert {example.source for example in examples} == {"2019-05-03", "2019/05/03", "20190503"}
    assert len(examples) == 9


def test_every_letter_of_the_test_is_seen_in_training(demo: Demo) -> None:
    seen = set("".join(example.source for example in demo.train))
    assert set("".join(example.source for example in demo.test)) <= seen


def test_many_months_stay_for_false_friends(demo: Demo) -> None:
    """Polish Novembers and Croatian Octobers are there, with numbers or with a weekday."""
    for code, month in (("pl", "11"), ("hr", "10")):
        assert sum(example.slice == code and example.target[5:7] == month for example in demo.train) > 20
    bare = re.compile(r"^\d+\.? (listopada?|lis) \d+\.?$", re.IGNORECASE)
    assert not [example for example in demo.train if bare.match(example.source)]


def squeezed(text: str, dots: bool) -> str:
    """What a reader cannot go by: case, accents, spaces, commas; with dots or without."""
    return re.sub(r"[\s,،\u200f]" if dots else r"[\s,،.\u200f]", "", plain(text.casefold()))


class Form:
    """A way of CLDR to write dates, read back: made anew from Babel, not from what wrote the examples."""

    def __init__(self, text: str, code: str) -> None:
        self.dots = not re.search("MMM|LLL", text)
        self.months: dict[str, str] = {}
        self.pattern = re.compile("".join(self._part(*token, code) for token in tokenize_pattern(text)))

    def _part(self, kind: str, value: Any, code: str) -> str:
        if kind == "chars":
            return re.escape(squeezed(value, self.dots))
        letter, width = value
        match letter:
            case "M" | "L" if width > 2:
                names = month_names(code, letter == "L", width == 4)
                self.months = {squeezed(name, self.dots): f"{month:02}" for month, name in enumerate(names, start=1)}
                return f"(?P<m>{'|'.join(map(re.escape, self.months))})"
            case "E" | "c":
                names = weekday_names(code, letter == "c", width == 4)
                return f"(?:{'|'.join(re.escape(squeezed(name, self.dots)) for name in names)})"
            case "G":
                return ".*"
        return f"(?P<{letter.lower()}>" + {"y": r"\d{2}" if width == 2 else r"\d{4}"}.get(letter, r"\d{1,2}") + ")"

    def read(self, text: str) -> str | None:
        found = self.pattern.fullmatch(squeezed(text, self.dots))
        if found is None:
            return None
        month = self.months.get(found["m"]) or f"{int(found['m']):02}"
        try:
            return date(full_year(int(found["y"])) or 0, int(month), int(found["d"])).isoformat()
        except ValueError:
            return None


@cache
def forms() -> list[Form]:
    """Every way in which a reader of any of the languages could take a text."""
    found = {}
    for code in LANGUAGES:
        locale = Locale.parse(code, sep="-")
        texts = {locale.date_formats[length].pattern for length in ("full", "long", "medium", "short")}
        texts |= {locale.datetime_skeletons[name].pattern for name in ("yMd", "yMEd", "yMMMd", "yMMMEd")}
        texts |= {re.sub("(?<!M)MMM(?!M)", "MMMM", text) for text in texts}
        texts |= {text.replace("MMMM", "LLLL") for text in texts}
        texts |= {text.replace("EEEE", "E").replace("cccc", "ccc") for text in texts}
        for text in sorted(texts):
            form = Form(text, code)
            found[form.pattern.pattern, form.dots, tuple(form.months.items())] = form
    return list(found.values())


def read_by_all(text: str) -> set[str]:
    return {read for form in forms() if (read := form.read(text))}


def test_the_readers_can_doubt() -> None:
    assert read_by_all("03/04/2019") == {"2019-03-04", "2019-04-03"}
    assert read_by_all("3 listopada 2019") == {"2019-10-03", "2019-11-03"}
    assert read_by_all("03.04.2019") == {"2019-04-03"}


def test_no_reader_of_any_language_takes_a_date_for_another(clean: Demo, demo: Demo) -> None:
    taken: Counter[bool] = Counter()
    for example in clean.test:
        read = read_by_all(example.source)
        assert read <= {example.target}, example
        taken[bool(read)] += 1
    assert taken[True] > 0.9 * taken.total()  # the rest is not CLDR's: ordinals, ISO's compact form
    for example in demo.test[:600]:  # with slips nobody may read it, but nobody reads it wrongly
        assert read_by_all(example.source) <= {example.target}, example
