"""Minimum Bayes risk: of many answers the one that is most like the others, each counted by its probability."""
# H hypotheses  R references  U distinct n-grams

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from seqloom.settings import Frozen

Values = NDArray[np.float64]
Likeness = Callable[[Sequence[str], Sequence[str]], Values]
"""How good each hypothesis would be if each reference were right: one row a hypothesis, one column a reference."""
_SMALL_ENOUGH = 2**22  # numbers that are compared at once


class MBR(Frozen):
    """Write many answers, and take the one that is most like the others (Kumar and Byrne 2004)."""

    kind: Literal["mbr"] = "mbr"
    candidates: int = Field(default=16, ge=2, description="answers that are written and compared")
    of: Literal["samples", "n-best"] = Field(
        default="samples",
        description="samples: drawn by chance (Eikema and Aziz 2020); n-best: the best of a beam, by their probability",
    )
    by: Literal["chrf", "bleu", "exact"] = Field(
        default="chrf", description="how like two answers are; exact: the answer that comes most often"
    )


def mbr(texts: Sequence[str], weights: Sequence[float] | None, likeness: Likeness) -> list[tuple[int, float]]:
    """The places of the texts, the best first, each with its expected likeness to all texts, itself included.

    weights: how probable each text is, up to a factor; None: all alike, as for samples. Of equals the first is first.
    """
    if weights is not None and (len(weights) != len(texts) or min(weights, default=0) < 0 or sum(weights) <= 0):
        raise ValueError(f"{len(texts)} texts need as many weights, none below 0 and not all 0; not {list(weights)}")
    mass: dict[str, float] = {}  # samples repeat each other
    for text, weight in zip(texts, weights or [1.0] * len(texts), strict=True):
        mass[text] = mass.get(text, 0.0) + weight
    once = list(mass)
    share_R = np.fromiter(mass.values(), np.float64) / sum(mass.values())
    expected = dict(zip(once, (likeness(once, once) @ share_R).tolist() if once else [], strict=True))
    return sorted(((place, expected[text]) for place, text in enumerate(texts)), key=lambda one: -one[1])


def build_likeness(by: Literal["chrf", "bleu", "exact"]) -> Likeness:
    match by:
        case "chrf":
            return chrf
        case "bleu":
            return bleu
        case "exact":
            return in_pairs(lambda hypothesis, reference: float(hypothesis == reference))
        case _:
            assert_never(by)


def in_pairs(score: Callable[[str, str], float]) -> Likeness:
    """A score of one hypothesis and one reference, for each pair."""

    def likeness(hypotheses: Sequence[str], references: Sequence[str]) -> Values:
        pairs = [[score(hypothesis, reference) for reference in references] for hypothesis in hypotheses]
        return np.array(pairs, np.float64).reshape(len(hypotheses), len(references))

    return likeness


def chrf(hypotheses: Sequence[str], references: Sequence[str], orders: int = 6, beta: float = 2.0) -> Values:
    """chrF of each pair (Popović 2015), 0 to 100, as sacrebleu's sentence_chrf has it."""
    rows_H, rows_R, texts = _once(hypotheses, references)
    squeezed = ["".join(text.split()) for text in texts]
    shape = len(hypotheses), len(references)
    precision_HR, recall_HR, effective_HR = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for order in range(1, orders + 1):
        grams = [[text[at : at + order] for at in range(len(text) - order + 1)] for text in squeezed]
        same_HR, of_H, of_R = _shared(grams, rows_H, rows_R)
        both_HR = (of_H[:, None] > 0) & (of_R > 0)
        precision_HR += np.divide(same_HR, of_H[:, None], out=np.zeros(shape), where=both_HR)
        recall_HR += np.divide(same_HR, of_R, out=np.zeros(shape), where=both_HR)
        effective_HR += both_HR
    precision_HR /= np.maximum(effective_HR, 1)
    recall_HR /= np.maximum(effective_HR, 1)
    below_HR = beta**2 * precision_HR + recall_HR
    above_HR = (1 + beta**2) * precision_HR * recall_HR
    return 100 * np.divide(above_HR, below_HR, out=np.zeros(shape), where=below_HR > 0)


def bleu(hypotheses: Sequence[str], references: Sequence[str], orders: int = 4) -> Values:
    """BLEU of each pair, 0 to 100, as sacrebleu's sentence_bleu has it: 13a, smoothed, with the effective order."""
    from sacrebleu.metrics.bleu import BLEU  # here, as nothing else of generation needs it

    metric = BLEU()
    rows_H, rows_R, texts = _once(hypotheses, references)
    words = [metric.tokenizer(text.rstrip()).split() for text in texts]
    counted = [
        _shared([list(zip(*(one[at:] for at in range(order)), strict=False)) for one in words], rows_H, rows_R)
        for order in range(1, orders + 1)
    ]

    def score(hypothesis: int, reference: int) -> float:
        same = [int(same_HR[hypothesis, reference]) for same_HR, _, _ in counted]
        total = [int(of_H[hypothesis]) for _, of_H, _ in counted]
        lengths = total[0], int(counted[0][2][reference])
        return float(metric.compute_bleu(same, total, *lengths, smooth_method="exp", effective_order=True).score)

    each = [[score(h, r) for r in range(len(references))] for h in range(len(hypotheses))]
    return np.array(each, np.float64).reshape(len(hypotheses), len(references))


def _once(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[list[int], list[int], list[str]]:
    """Each text once, and where the hypotheses and the references stand in that list: they are often the same."""
    rows: dict[str, int] = {}
    rows_H = [rows.setdefault(text, len(rows)) for text in hypotheses]
    rows_R = [rows.setdefault(text, len(rows)) for text in references]
    return rows_H, rows_R, list(rows)


def _shared(grams: Sequence[Iterable[object]], rows_H: list[int], rows_R: list[int]) -> tuple[Values, Values, Values]:
    """How many n-grams each pair shares, and how many each hypothesis and each reference has."""
    column: dict[object, int] = {}
    counts = [Counter(column.setdefault(gram, len(column)) for gram in one) for one in grams]
    table = np.zeros((len(counts), len(column)), np.int32)
    for row, count in enumerate(counts):
        table[row, list(count)] = list(count.values())
    table_HU, table_RU = table[rows_H], table[rows_R]
    same_HR = np.zeros((len(table_HU), len(table_RU)))
    several = max(1, _SMALL_ENOUGH // max(1, table_RU.size))
    for first in range(0, len(table_HU), several):
        part_H1U = table_HU[first : first + several, None]
        same_HR[first : first + several] = np.minimum(part_H1U, table_RU).sum(2)
    return same_HR, table_HU.sum(1).astype(np.float64), table_RU.sum(1).astype(np.float64)
