"""Intervals: seeded, of bounded memory, and as wide as they should be."""

import tracemalloc

import numpy as np
import pytest

from seqloom.evaluation import Bleu, ExactMatch, interval, total
from seqloom.evaluation import interval as module_function
from seqloom.evaluation.interval import percentiles, resampled
from tests.evaluation.corpus import MANY, MANY_GOOD

module = __import__("sys").modules[module_function.__module__]


def _flips(count: int, share: float) -> np.ndarray:
    right = (np.arange(count) < share * count).astype(np.int64)
    return np.stack([right, np.ones_like(right)], -1)


def test_a_share_has_the_interval_of_the_binomial() -> None:
    """Of 400 coins, half of them heads: 50 ± 1.96 · 2.5."""
    found = interval(ExactMatch(), _flips(400, 0.5), resamples=4000)
    assert found.low == pytest.approx(50 - 4.9, abs=0.5)
    assert found.high == pytest.approx(50 + 4.9, abs=0.5)


def test_it_holds_the_truth_as_often_as_it_says() -> None:
    draw, held = np.random.default_rng(5), 0
    for _ in range(200):
        right = (draw.random(150) < 0.3).astype(np.int64)
        found = interval(ExactMatch(), np.stack([right, np.ones_like(right)], -1), resamples=300)
        held += found.low <= 30 <= found.high
    assert 0.90 <= held / 200 <= 0.99


def test_the_seed_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not how many resamples are made at once."""
    stats_ND = Bleu().statistics(MANY_GOOD, [MANY])
    found = interval(Bleu(), stats_ND)
    assert found.low < float(Bleu().score(total(stats_ND))) < found.high
    assert interval(Bleu(), stats_ND) == found
    assert interval(Bleu(), stats_ND, seed=2) != found
    monkeypatch.setattr(module, "CELLS", 7 * len(MANY))
    assert interval(Bleu(), stats_ND) == found


def test_every_resample_is_as_large_as_the_corpus_and_pairs_stay_pairs() -> None:
    stats_ND = _flips(50, 0.3)
    one, other = resampled([stats_ND, 2 * stats_ND], 20)
    assert one.shape == (20, 2)
    assert (one[:, 1] == 50).all()
    assert (other == 2 * one).all()
    assert len(set(one[:, 0])) > 3


def test_memory_is_bounded() -> None:
    """A table of all resamples would take 1.6 GB; progress is told on the way."""
    stats_ND, told = _flips(200_000, 0.5), []
    tracemalloc.start()
    resampled([stats_ND], 40, progress=told.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert sum(told) == 40
    assert len(told) > 1


def test_percentiles() -> None:
    found = percentiles(np.arange(1001.0))
    assert (found.low, found.high) == (pytest.approx(25), pytest.approx(975))
