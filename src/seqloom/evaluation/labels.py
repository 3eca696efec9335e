"""Labels against labels: accuracy, F1, and how each label does."""

# N examples  L labels  3 right, said, wanted

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seqloom import __version__
from seqloom.evaluation.metric import Metric, Scores, Statistics, only, ratio

Labels = Sequence[str]
"""of one example: one for a class, one a word for tags"""
Average = Literal["macro", "micro"]


class Accuracy(Metric[Labels]):
    """Labels that are right, in percent."""

    name, title = "accuracy", "accuracy"

    def statistics(self, hypotheses: Sequence[Labels], references: Sequence[Sequence[Labels]]) -> Statistics:
        pairs = list(zip(hypotheses, only(references, self.name), strict=True))
        rows = [(sum(a == b for a, b in zip(one, other, strict=True)), len(other)) for one, other in pairs]
        return np.array(rows, np.int64).reshape(len(pairs), 2)

    def score(self, total_D: Statistics) -> Scores:
        return 100 * ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        return f"nrefs:{references}|version:seqloom-{__version__}"


class Counted(Metric[Labels]):
    """F1 of things of several kinds: labels, or the spans that tags mark. In percent.

    macro: the mean of the kinds, each counting the same. A kind that is neither said nor wanted does not count, so that
    kinds which other systems say do not change a score. micro: of all things together.
    """

    def __init__(self, kinds: Iterable[str], average: Average) -> None:
        self.kinds = tuple(sorted(set(kinds)))
        self.average = average

    def score(self, total_D: Statistics) -> Scores:
        total_L3 = np.asarray(total_D, float).reshape(*total_D.shape[:-1], len(self.kinds), 3)
        if self.average == "micro":
            return 100 * f1(total_L3.sum(-2))
        present_L = total_L3[..., 1:].any(-1)
        return 100 * ratio((f1(total_L3) * present_L).sum(-1), present_L.sum(-1))

    def by_kind(self, total_D: Statistics) -> list["OfKind"]:
        """Precision, recall and F1 of each kind that is said or wanted."""
        total_L3 = np.asarray(total_D).reshape(len(self.kinds), 3)
        rows = zip(self.kinds, total_L3, precisions(total_L3), recalls(total_L3), f1(total_L3), strict=True)
        return [
            OfKind(kind, 100 * float(p), 100 * float(r), 100 * float(f), int(counts[2]))
            for kind, counts, p, r, f in rows
            if counts[1:].any()
        ]

    def _table(self, rows: Sequence[Iterable[tuple[int, str]]]) -> Statistics:
        """rows: for each example (0 right, 1 said, 2 wanted) with a kind, as often as it comes."""
        place = {kind: 3 * at for at, kind in enumerate(self.kinds)}
        stats_ND = np.zeros((len(rows), 3 * len(self.kinds)), np.int32)
        for row, found in zip(stats_ND, rows, strict=True):
            for what, kind in found:
                row[place[kind] + what] += 1
        return stats_ND


class LabelF1(Counted):
    """F1 of labels."""

    def __init__(self, kinds: Iterable[str], average: Average = "macro") -> None:
        super().__init__(kinds, average)
        self.name, self.title = f"f1-{average}", f"{average} F1"

    def statistics(self, hypotheses: Sequence[Labels], references: Sequence[Sequence[Labels]]) -> Statistics:
        rows = []
        for said, wanted in zip(hypotheses, only(references, self.name), strict=True):
            right = [(0, one) for one, other in zip(said, wanted, strict=True) if one == other]
            rows.append([*right, *((1, label) for label in said), *((2, label) for label in wanted)])
        return self._table(rows)

    def signature(self, references: int = 1) -> str:
        return f"nrefs:{references}|average:{self.average}|version:seqloom-{__version__}"


@dataclass(frozen=True)
class OfKind:
    """How one label, or spans of one type, come out; in percent."""

    kind: str
    precision: float
    recall: float
    f1: float
    wanted: int


def precisions(total_3: Statistics) -> Scores:
    return ratio(total_3[..., 0], total_3[..., 1])


def recalls(total_3: Statistics) -> Scores:
    return ratio(total_3[..., 0], total_3[..., 2])


def f1(total_3: Statistics) -> Scores:
    return ratio(2 * total_3[..., 0], total_3[..., 1] + total_3[..., 2])
