from collections import Counter

import pytest

from seqloom.jobs.demos import Demo
from seqloom.jobs.demos.numbers import FIRST_HELD_OUT, LANGUAGES, LARGEST, make_numbers

TO_DIGITS, TO_WORDS = "words → digits", "digits → words"


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_numbers(train=9_600)


def number(source: str, target: str) -> int:
    return int(target) if target.isascii() and target.isdigit() else int(source.partition(": ")[2])


def test_no_number_of_one_split_is_in_another(demo: Demo) -> None:
    trained, validated, tested = (
        {number(example.source, example.target) for example in part} for part in (demo.train, demo.valid, demo.test)
    )
    assert not trained & (validated | tested)
    assert not validated & tested
    assert min(validated | tested) >= FIRST_HELD_OUT
    assert trained >= set(range(FIRST_HELD_OUT))


def test_sizes_are_spread_evenly(demo: Demo) -> None:
    lengths = Counter(len(str(number(example.source, example.target))) for example in demo.test)
    assert set(lengths) == {3, 4, 5, 6}
    assert max(lengths.values()) < 1.5 * min(lengths.values())
    assert max(number(example.source, example.target) for example in demo.train) <= LARGEST


def test_every_language_both_ways(demo: Demo) -> None:
    counts = Counter(example.slice for example in demo.test)
    assert set(counts) == {f"{code} {way}" for code in LANGUAGES for way in (TO_DIGITS, TO_WORDS)}
    assert set(counts.values()) == {120}


def test_the_two_ways_are_each_other(demo: Demo) -> None:
    there = {(e.slice[:2], e.target): e.source for e in demo.train if e.slice.endswith(TO_DIGITS)}
    back = {(e.slice[:2], e.source[4:]): e.target for e in demo.train if e.slice.endswith(TO_WORDS)}
    assert len(there) == 4_800
    assert there == back


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("de: 21", "einundzwanzig"),
        ("ninety-nine", "99"),
        ("fr: 80", "quatre-vingts"),
        ("ja: 12", "十二"),
        ("sıfır", "0"),
    ],
)
def test_some_numbers(source: str, target: str, demo: Demo) -> None:
    assert (source, target) in {(example.source, example.target) for example in demo.train}


def test_a_split_larger_than_its_numbers(demo: Demo) -> None:
    assert len(make_numbers(train=2_400, test=100_000).test) == 2 * len(LANGUAGES) * 400
