"""What is kept of looks never takes more than its room."""

import pytest

from seqloom.jobs.lecture import lecture
from seqloom.jobs.look import Look, LookRequest
from seqloom.serving.looks import MOST, Looks, size


def look(text: str = "black cat eats") -> Look:
    made = Look(lecture(), LookRequest(text))
    made.trace()
    return made


def test_the_size_is_that_of_what_is_held() -> None:
    fresh = Look(lecture(), LookRequest("black cat eats"))
    assert size(fresh) == 0
    fresh.answer()
    before = size(fresh)
    fresh.trace()
    assert size(fresh) > before + 1000
    assert size(fresh) < 500_000  # not the model itself, and nothing twice


def test_the_least_recently_used_leaves() -> None:
    each = size(look())
    looks = Looks(2.5 * each)
    for key in "abac":
        looks.find(key, look)
        looks.measure(key)
        assert looks.bytes <= looks.room
    assert list(looks._kept) == ["a", "c"]


def test_the_same_is_not_made_again() -> None:
    looks = Looks(1e9)
    first = looks.find("a", look)
    assert looks.find("a", lambda: pytest.fail("made again")) is first


def test_one_that_is_too_large_is_not_kept() -> None:
    looks = Looks(10)
    looks.find("a", look)
    looks.measure("a")
    assert len(looks) == looks.bytes == 0


def test_many_small_ones_leave_too() -> None:
    looks, one = Looks(1e9), look()
    for number in range(3 * MOST):
        looks.find(str(number), lambda: one)
        looks.measure(str(number))
    assert len(looks) == MOST
