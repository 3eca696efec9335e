"""Round numbers on axes, and values in their places."""

import pytest

from seqloom.training.axes import Scale, fit, tick_label


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.13, 0.91, [0.2, 0.4, 0.6, 0.8]), (-1, 1, [-1, -0.5, 0, 0.5, 1]),
     (1, 3000, [1000, 2000, 3000])],
)  # fmt: skip
def test_even_ticks(low: float, high: float, ticks: list[float]) -> None:
    assert Scale(low, high, 0, 1).ticks(5) == pytest.approx(ticks)


def test_log_ticks() -> None:
    assert Scale(0.1, 100, 0, 1, log=True).ticks(5) == pytest.approx([0.1, 1, 10, 100])
    assert Scale(0.9, 12, 0, 1, log=True).ticks(5) == pytest.approx([1, 2, 5, 10])
    assert len(Scale(1e-9, 1e9, 0, 1, log=True).ticks(5)) <= 5


def test_values_have_places() -> None:
    assert Scale(0, 10, 100, 0).place(2.5) == 75
    assert Scale(1, 100, 0, 50, log=True).place(10) == pytest.approx(25)


@pytest.mark.parametrize("values", [[], [3.0], [0.0], [-2.0, -2.0], [1.0, 2.0], [0.001, 1000.0], [0.0, 1e-12]])
def test_a_fit_holds_its_values(values: list[float]) -> None:
    scale = fit(values, 0, 1)
    assert scale.low < scale.high
    assert all(scale.low <= value <= scale.high and 0 <= scale.place(value) <= 1 for value in values)
    assert scale.ticks(4)


def test_a_wide_span_is_drawn_by_its_logarithm_unless_even() -> None:
    assert fit([0.01, 1.0], 0, 1).log
    assert not fit([0.01, 1.0], 0, 1, even=True).log
    assert not fit([0.0, 1.0], 0, 1).log
    assert fit([0.0, 1.0], 0, 1).low == 0


def test_labels() -> None:
    labels = [tick_label(x) for x in (0, 0.25, 1500, 25000, 2.5e6, 3e-5, 1e9, 0.30000000000000004, -2)]
    assert labels == ["0", "0.25", "1500", "25k", "2.5M", "3e-5", "1e9", "0.3", "-2"]
