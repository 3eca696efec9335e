"""The examples that a system does worst and best."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.metric import Metric, Statistics


@dataclass(frozen=True)
class Found:
    row: int
    score: float


def extremes(
    metric: Metric[Any], stats_ND: Statistics, count: int, right_N: NDArray[np.bool_] | None = None
) -> tuple[list[Found], list[Found]]:
    """The worst, the worst first, and the best, the best first; of equals, those that come first. None is in both.

    right_N: which are as they should be, so that none of them is among the worst.
    """
    scores_N = metric.each(stats_ND)
    order = np.argsort(scores_N if metric.higher_is_better else -scores_N, kind="stable")
    best_first = np.argsort(-scores_N if metric.higher_is_better else scores_N, kind="stable")
    worst = (order if right_N is None else order[~right_N[order]])[:count]
    taken = set(worst.tolist())
    best = [row for row in best_first[: 2 * count].tolist() if row not in taken][:count]
    return [Found(row, float(scores_N[row])) for row in worst.tolist()], [
        Found(row, float(scores_N[row])) for row in best
    ]
