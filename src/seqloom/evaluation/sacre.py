"""What the metrics of sacreBLEU have in common: it counts, we add."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqloom.evaluation.metric import Metric, Statistics


class SacreMetric(Metric[str]):
    """Statistics and signature come from sacreBLEU's own class, so that both are what everyone else has."""

    def __init__(self, counter: Any, width: int) -> None:
        self.counter = counter
        self.width = width
        """how many statistics an example has"""

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        # not public there, but what its own significance tests use: corpus_score gives the sum alone
        rows = self.counter._extract_corpus_statistics(list(hypotheses), [list(each) for each in references])
        return np.array(rows).reshape(len(rows), self.width)

    def signature(self, references: int = 1) -> str:
        self.counter.num_refs = references
        return str(self.counter.get_signature())
