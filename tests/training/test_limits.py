"""The share of a run that is over, by the clock."""

import pytest

from seqloom.training.limits import Limits
from seqloom.training.place import Place


def test_the_last_validation_is_kept_free() -> None:
    limits = Limits(None, 60.0)
    assert limits.done(Place(), 25.0, spare=10.0) == pytest.approx(0.5)
    assert limits.done(Place(), 50.0, spare=10.0) == 1.0
    assert limits.done(Place(), 29.0, spare=100.0) < 1.0, "half of the time is for training at least"


def test_what_is_made_ready_once_is_no_progress() -> None:
    limits, place = Limits(None, 60.0), Place(preparing=20.0)
    assert limits.done(place, 20.0, spare=0.0) == 0.0
    assert limits.done(place, 40.0, spare=0.0) == pytest.approx(0.5)
    assert limits.done(place, 60.0, spare=0.0) == 1.0
    assert limits.done(Place(preparing=70.0), 70.0, spare=0.0) == 1.0, "the time is over nevertheless"


def test_the_first_limit_ends_a_run() -> None:
    limits = Limits(100, 60.0, flops=1e6)
    assert limits.done(Place(step=90), 30.0, spare=0.0) == pytest.approx(0.9)
    assert limits.done(Place(step=10, flops=9.5e5), 30.0, spare=0.0) == pytest.approx(0.95)
