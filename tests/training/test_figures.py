"""Times and counts in words."""

import math

import pytest

from seqloom.training.figures import count, duration, figure, memory, share


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (12.4, "12 s"), (59.6, "1 m 00 s"), (200, "3 m 20 s"), (65, "1 m 05 s"), (3599.7, "1 h 00 m"),
        (3720, "1 h 02 m"), (93600, "26 h 00 m"), (-3, "0 s"), (math.inf, "?"), (math.nan, "?"),
    ],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"), (812, "812"), (999.7, "1.0k"), (4100, "4.1k"), (38_200, "38k"), (999_700, "1.0M"), (1.23e6, "1.2M"),
        (5e9, "5.0G"), (5e12, "5000G"), (math.nan, "?"),
    ],
)  # fmt: skip
def test_counts(number: float, words: str) -> None:
    assert count(number) == words


def test_memory_shares_and_figures() -> None:
    assert (memory(5.12e8), memory(1.26e9), memory(9.997e8)) == ("512 MB", "1.3 GB", "1.0 GB")
    assert (share(0.2), share(0.999), share(1), share(0.29), share(math.nan)) == ("20%", "99%", "100%", "29%", "?")
    assert [figure(x) for x in (1.2345, 27.314, 0.0, 1.23e-5, 12345.0)] == [
        "1.234",
        "27.31",
        "0.000",
        "1.2e-05",
        "1.2e+04",
    ]
    assert (figure(math.nan), figure(math.inf)) == ("nan", "inf")
