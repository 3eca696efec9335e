"""Errors of forecasts that roll over a test: the windows overlap, so that blocks of them are what is resampled."""
# N blocks

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from seqloom import __version__
from seqloom.evaluation.metric import Metric, Scores, Statistics, ratio

RollingMetric = Literal["mse", "mae", "crps", "mase", "mse-units", "mae-units", "coverage"]
ROLLING: tuple[RollingMetric, ...] = get_args(RollingMetric)

_TITLES: dict[RollingMetric, str] = {
    "mse": "MSE (z)",
    "mae": "MAE (z)",
    "crps": "CRPS (z)",
    "mase": "MASE",
    "mse-units": "MSE (units)",
    "mae-units": "MAE (units)",
    "coverage": "coverage",
}


class Rolling(Metric[ArrayLike]):
    """A mean over all values of all windows, from sums that were counted window by window.

    (z): on z-scores of each column's training part, as papers do; (units): of the columns as they are. coverage: the
    percentage of values between the lowest and the highest quantile.
    """

    any_scale = True

    def __init__(self, name: RollingMetric, how: str) -> None:
        """how: what must be equal for two scores to be compared."""
        self.name, self.title, self.how = name, _TITLES[name], how
        self.higher_is_better = name == "coverage"
        self.digits = 2 if name == "coverage" else 4

    def statistics(self, hypotheses: Sequence[ArrayLike], references: Sequence[Sequence[ArrayLike]]) -> Statistics:
        """hypotheses: of each block, the sum of its errors and how many they are."""
        return np.asarray(hypotheses, float).reshape(len(hypotheses), 2)

    def score(self, total_D: Statistics) -> Scores:
        return ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        return f"{self.how}|version:seqloom-{__version__}"
