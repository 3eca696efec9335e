"""From what a step asks to how long it takes."""

import pytest

from seqloom.training.load import Load
from seqloom.training.pace import FEATURES, ROWS, WIDTHS, Pace, features, fitted, rate_at

RATES = tuple(tuple(1e9 * (row + 1) * (column + 1) for column in range(len(WIDTHS))) for row in range(len(ROWS)))


def _load(flops: float = 0.0, attention: float = 0.0, parts: float = 0.0, length: float = 64) -> Load:
    return Load({(256.0, 128): flops}, {length: attention}, 0.0, 0.0, 0.0, parts, 0.0, 0.0)


def test_rates_are_met_where_they_were_measured_and_lie_between_elsewhere() -> None:
    assert rate_at(RATES, 64, 128) == pytest.approx(RATES[1][2])
    assert RATES[1][2] < rate_at(RATES, 128, 128) < RATES[2][2]
    assert rate_at(RATES, 1, 1) == pytest.approx(RATES[0][0])
    assert rate_at(RATES, 1e9, 1e9) == pytest.approx(RATES[-1][-1])


def test_a_length_between_two_shares_its_attention_among_them() -> None:
    found = features(_load(attention=100.0, length=128), RATES)
    assert found["attention at 64"] == pytest.approx(50)
    assert found["attention at 256"] == pytest.approx(50)


def test_fitting_finds_the_numbers_that_made_the_times() -> None:
    true = Pace(RATES, {"products": 1.5, "parts": 0.002, "attention at 64": 1e-9})
    loads = [_load(f, a, p) for f, a, p in [(1e8, 0, 1), (1e9, 0, 1), (1e8, 1e8, 1), (1e8, 0, 30), (5e8, 2e8, 9)]]
    found = fitted(loads, [true.predict(load) for load in loads], RATES)
    unseen = _load(3e8, 5e7, 5)
    assert found.predict(unseen) == pytest.approx(true.predict(unseen), rel=0.02)
    assert all(value >= 0 for value in found.seconds.values())


def test_nothing_takes_less_than_no_time() -> None:
    loads = [_load(parts=1), _load(parts=2), _load(parts=3)]
    found = fitted(loads, [3.0, 2.0, 1.0], RATES)  # more parts, less time: no such thing
    assert found.seconds.get("parts", 0.0) >= 0
    assert found.predict(_load()) > 0


def test_a_pace_is_kept_and_read_again() -> None:
    pace = Pace(RATES, {"products": 1.0})
    assert Pace.loads(pace.dumps()) == pace
    with pytest.raises(ValueError, match="another table"):
        Pace.loads('{"rates": [[1.0]], "seconds": {}}')
    assert len(set(FEATURES)) == len(FEATURES)
