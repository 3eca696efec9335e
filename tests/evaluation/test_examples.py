"""The worst and the best are found."""

import numpy as np

from seqloom.evaluation import Bleu, ErrorRate
from seqloom.evaluation.examples import Found, extremes
from tests.evaluation.corpus import GOOD, REFERENCES


def test_the_worst_and_the_best() -> None:
    metric = ErrorRate()
    stats_ND = metric.statistics(["a b", "x y", "a", "a b c"], [["a b", "a b", "a b", "a b"]])
    worst, best = extremes(metric, stats_ND, 1)
    assert (worst, best) == ([Found(1, 100.0)], [Found(0, 0.0)])
    worst, best = extremes(metric, stats_ND, 3)
    assert [each.row for each in worst] == [1, 2, 3]
    assert [each.row for each in best] == [0]  # none is shown twice
    worst, best = extremes(metric, stats_ND, 3, np.array([True, False, True, True]))
    assert ([each.row for each in worst], [each.row for each in best]) == ([1], [0, 2, 3])
    stats_ND = Bleu().statistics(GOOD, [REFERENCES])
    worst, best = extremes(Bleu(), stats_ND, 2)
    assert worst[0].score <= worst[1].score < best[1].score <= best[0].score == 100.0
