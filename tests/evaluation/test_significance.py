"""Paired tests: fair where systems are alike, sure where they are not, and near to sacreBLEU's own."""

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from seqloom.evaluation import Bleu, Chrf, Comparison, ErrorRate, ExactMatch, Interval, compared, total
from seqloom.evaluation.series import AbsoluteError, Crps, SquaredError
from seqloom.evaluation.significance import bootstrap_p, randomisation_p
from tests.evaluation.corpus import MANY, MANY_BAD, MANY_BETTER, MANY_GOOD


def _flips(right: np.ndarray) -> np.ndarray:
    return np.stack([right, np.ones_like(right)], -1).astype(np.int64)


@pytest.mark.parametrize("other", [MANY_BETTER, MANY_BAD], ids=["near", "far"])
def test_beside_sacrebleu(other: list[str]) -> None:
    """The same scores; p-values that differ by chance alone. Its bootstrap is Koehn's shifted, so near for small p."""
    metrics = {"BLEU": sacrebleu.BLEU(force=True), "chrF2": sacrebleu.CHRF()}
    systems = [("good", MANY_GOOD), ("other", other)]
    theirs = {kind: PairedTest(systems, metrics, [MANY], kind, 2000)()[1] for kind in ("ar", "bs")}
    for name, metric in ("BLEU", Bleu()), ("chrF2", Chrf()):
        system_ND, baseline_ND = (metric.statistics(said, [MANY]) for said in (other, MANY_GOOD))
        ours = compared(metric, system_ND, baseline_ND, resamples=2000, trials=2000)
        assert theirs["ar"][name][1].score == float(metric.score(total(system_ND)))
        assert ours.difference == theirs["ar"][name][1].score - theirs["ar"][name][0].score
        assert ours.randomisation == pytest.approx(theirs["ar"][name][1].p_value, abs=0.03)
        assert ours.bootstrap == pytest.approx(theirs["bs"][name][1].p_value, abs=0.08)


def test_a_system_against_itself() -> None:
    stats_ND = Bleu().statistics(MANY_GOOD, [MANY])
    assert compared(Bleu(), stats_ND, stats_ND, trials=100) == Comparison(0.0, Interval(0.0, 0.0), 1.0, 1.0)


def test_which_way_round_makes_no_difference() -> None:
    metric = ErrorRate()
    one, other = (metric.statistics(said, [MANY]) for said in (MANY_BAD, MANY_GOOD))
    there, back = compared(metric, one, other, trials=500), compared(metric, other, one, trials=500)
    assert there.difference == -back.difference > 0
    assert (there.randomisation, there.bootstrap) == (back.randomisation, back.bootstrap)
    assert (there.interval.low, there.interval.high) == (-back.interval.high, -back.interval.low)
    assert there.mark == "**"  # 500 trials cannot say more than p = 1/501


def test_chance_is_found_as_often_as_p_says() -> None:
    """Systems that are equally good: p < 0.1 in one of ten, or fewer."""
    draw, found = np.random.default_rng(3), []
    for _ in range(200):
        one, other = (_flips(draw.random(80) < 0.5) for _ in range(2))
        found.append(randomisation_p(ExactMatch(), one, other, trials=200))
    assert 0.02 < np.mean(np.array(found) < 0.1) < 0.14
    assert np.mean(found) > 0.45


def test_randomisation_counts_all_ways_to_change_sides() -> None:
    """Three answers right and none of the other's: two of eight ways are as uneven."""
    one, other = _flips(np.array([1, 1, 1, 0])), _flips(np.array([0, 0, 0, 0]))
    assert randomisation_p(ExactMatch(), one, other, trials=4000) == pytest.approx(0.25, abs=0.03)


def test_p_of_the_bootstrap() -> None:
    differences = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert bootstrap_p(differences, 2.0) == pytest.approx(3 / 10)
    assert bootstrap_p(-differences, -2.0) == pytest.approx(3 / 10)
    assert bootstrap_p(differences, 0.0) == 1.0


@pytest.mark.parametrize(("examples", "p"), [(1, 0.5), (2, 0.25), (5, 1 / 32), (9, 1 / 512), (20, 1 / 1001)])
def test_few_examples_prove_little(examples: int, p: float) -> None:
    """All are in favour of one system, and so is each resample; half of what randomisation says."""
    one, other = (_flips(np.full(examples, right)) for right in (1, 0))
    found = compared(ExactMatch(), one, other)
    assert found.bootstrap == pytest.approx(p)
    assert found.randomisation == pytest.approx(2 * 0.5**examples, rel=0.3, abs=2e-4)
    assert compared(ExactMatch(), one, one).bootstrap == 1.0


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e-3, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("metric", [SquaredError(), AbsoluteError(), Crps()], ids=lambda metric: metric.name)
def test_a_scale_changes_no_p(metric: SquaredError | AbsoluteError | Crps, scale: float) -> None:
    draw = np.random.default_rng(0)
    wanted = [draw.normal(size=5) for _ in range(60)]
    near, far = ([one + draw.normal(size=(3, 5)) * noise for one in wanted] for noise in (0.1, 0.11))
    if not isinstance(metric, Crps):
        near, far = ([one[0] for one in said] for said in (near, far))

    def at(scale: float, said: list[np.ndarray]) -> np.ndarray:
        return metric.statistics([one * scale for one in said], [[one * scale for one in wanted]])

    plain = compared(metric, at(1.0, far), at(1.0, near), resamples=300, trials=300)
    found = compared(metric, at(scale, far), at(scale, near), resamples=300, trials=300)
    assert (found.randomisation, found.bootstrap, found.mark) == (plain.randomisation, plain.bootstrap, plain.mark)
    assert 0 < plain.randomisation < 0.5
    # the last bits of sums in another order make no difference
    stats_ND = at(scale, near)
    other_ND = stats_ND * np.array([1 + 1e-14, 1.0])
    same = compared(metric, other_ND, stats_ND, resamples=300, trials=300)
    assert (same.randomisation, same.bootstrap) == (1.0, 1.0)


def test_scores_that_are_no_numbers_prove_nothing() -> None:
    stats_ND = np.array([[1.0, 1.0]] * 20)
    broken_ND = stats_ND.copy()
    broken_ND[3, 0] = np.nan
    found = compared(SquaredError(), broken_ND, stats_ND, resamples=50, trials=50)
    assert (found.randomisation, found.bootstrap, found.mark) == (1.0, 1.0, "")


@pytest.mark.parametrize(("p", "mark"), [(0.5, ""), (0.05, ""), (0.049, "*"), (0.0099, "**"), (0.0009, "***")])
def test_marks(p: float, mark: str) -> None:
    assert Comparison(1.0, Interval(0, 2), 0.0, p).mark == mark
