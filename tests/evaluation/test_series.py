"""Errors of series, against scikit-learn, scoringrules and the definition."""

import numpy as np
import pytest
import scoringrules
import sklearn.metrics as sklearn

from seqloom.evaluation import AbsoluteError, Crps, Metric, ScaledError, SquaredError, total

DRAW = np.random.default_rng(1)
WANTED = DRAW.normal(size=(20, 7, 2))
SAID = WANTED + DRAW.normal(size=(20, 7, 2))
SAMPLES = WANTED[:, None] + DRAW.normal(size=(20, 11, 7, 2))


def score(metric: Metric[object], said: object, *wanted: object) -> float:
    return float(metric.score(total(metric.statistics(said, wanted))))  # type: ignore[arg-type]


def test_squared_and_absolute_errors() -> None:
    assert score(SquaredError(), SAID, WANTED) == pytest.approx(
        sklearn.mean_squared_error(WANTED.ravel(), SAID.ravel())
    )
    assert score(AbsoluteError(), SAID, WANTED) == pytest.approx(
        sklearn.mean_absolute_error(WANTED.ravel(), SAID.ravel())
    )


def test_series_of_unequal_length_and_missing_values() -> None:
    said, wanted = [[1.0, 2.0, 3.0], [5.0]], [[1.0, np.nan, 5.0], [4.0]]
    assert score(SquaredError(), said, wanted) == pytest.approx((0 + 4 + 1) / 3)
    with pytest.raises(ValueError, match=r"a forecast of \(2,\) values, but a reference of \(1,\)"):
        score(AbsoluteError(), [[1.0, 2.0]], [[1.0]])
    assert np.isnan(score(SquaredError(), [[np.nan]], [[1.0]]))


def test_scaled_errors() -> None:
    """Hyndman & Koehler 2006: the naive forecast of the past errs by 2 on average, this one by 3."""
    assert score(ScaledError(), [[10.0, 4.0]], [[7.0, 7.0]], [[1.0, 3.0, 1.0, 3.0]]) == pytest.approx(1.5)
    assert score(ScaledError(season=2), [[10.0]], [[7.0]], [[1.0, 0.0, 2.0, 2.0]]) == pytest.approx(3 / 1.5)
    channels = score(ScaledError(), [[[1.0, 1.0]]], [[[2.0, 3.0]]], [[[0.0, 0.0], [1.0, 4.0]]])
    assert channels == pytest.approx((1 / 1 + 2 / 4) / 2)


def test_a_past_without_a_scale() -> None:
    """is not counted; the other series are."""
    assert score(ScaledError(), [[1.0], [4.0]], [[9.0], [3.0]], [[5.0, 5.0], [1.0, 2.0]]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="a past of 2 steps has no season of 2 before its last"):
        score(ScaledError(2), [[1.0]], [[2.0]], [[1.0, 2.0]])


def test_crps_of_samples() -> None:
    expected = scoringrules.crps_ensemble(WANTED, SAMPLES, m_axis=1, estimator="nrg")
    assert score(Crps(), SAMPLES, WANTED) == pytest.approx(float(expected.mean()))
    # and the integral of its definition, of one value
    samples, value = SAMPLES[0, :, 0, 0], float(WANTED[0, 0, 0])
    grid = np.linspace(-9, 9, 400_001)
    below = (samples[:, None] <= grid).mean(0)
    integral = float(((below - (grid >= value)) ** 2).sum() * (grid[1] - grid[0]))
    assert score(Crps(), [samples[:, None]], [[value]]) == pytest.approx(integral, abs=1e-4)


def test_crps_of_quantiles() -> None:
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    quantiles = np.quantile(SAMPLES, levels, axis=1).swapaxes(0, 1)
    expected = scoringrules.crps_quantile(WANTED, quantiles, np.array(levels), m_axis=1)
    assert score(Crps(levels), quantiles, WANTED) == pytest.approx(float(np.mean(expected)))
    assert "by:5 quantiles" in Crps(levels).signature()


def test_one_sample_is_the_absolute_error() -> None:
    assert score(Crps(), SAID[:, None], WANTED) == pytest.approx(score(AbsoluteError(), SAID, WANTED))
    with pytest.raises(ValueError, match=r"samples or quantiles of \(2,\) values, but a reference of \(1,\)"):
        score(Crps(), [[[1.0, 2.0]]], [[1.0]])
