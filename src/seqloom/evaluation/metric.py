"""What every metric does: examples into statistics that can be added, and their sum into a score."""

# N examples  D statistics of one

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T_contra = TypeVar("T_contra", contravariant=True)
Statistics = NDArray[Any]
Scores = NDArray[np.float64]


class Metric(ABC, Generic[T_contra]):
    """A score of a corpus that depends on the sum of its examples' statistics alone.

    So an interval by the bootstrap costs one product of matrices, whatever the metric. `T` is one answer: a text, the
    labels of a sentence, the values of a series.
    """

    name: str
    """what the command line calls it"""
    title: str
    """what a table calls it"""
    higher_is_better: bool = True
    digits: int = 2
    """behind the point, for people"""
    any_scale: bool = False
    """its values may be tiny or huge: for people, so many digits that count"""

    @abstractmethod
    def statistics(self, hypotheses: Sequence[T_contra], references: Sequence[Sequence[T_contra]]) -> Statistics:
        """stats_ND: a row an example. references: one sequence, or several where the metric takes several."""

    @abstractmethod
    def score(self, total_D: Statistics) -> Scores:
        """The score of a sum of rows; the last dimension is D, any others stay."""

    def each(self, stats_ND: Statistics) -> Scores:
        """The score of each example on its own, to find the worst and the best."""
        return self.score(stats_ND)

    @abstractmethod
    def signature(self, references: int = 1) -> str:
        """How it was counted: all that must be equal for two scores to be compared."""


def total(stats_ND: Statistics) -> Statistics:
    """The sum of all rows; of fractions one after the other, so that the last bit is that of a plain loop."""
    if not len(stats_ND) or np.issubdtype(stats_ND.dtype, np.integer):
        return stats_ND.sum(0)
    return np.add.accumulate(stats_ND, axis=0)[-1]


def only(references: Sequence[Sequence[T_contra]], name: str) -> Sequence[T_contra]:
    """The references of a metric that takes one an example."""
    if len(references) != 1:
        raise ValueError(f"{name} compares with one reference, not {len(references)}")
    return references[0]


def ratio(above: Statistics, below: Statistics, nothing: float = 0.0) -> Scores:
    """above / below; `nothing` where there is nothing to divide by."""
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    return np.divide(above, below, out=np.full(above.shape, nothing), where=below > 0)
