"""BLEU (Papineni et al. 2002), counted by sacreBLEU (Post 2018)."""

import math
from collections.abc import Iterable

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from seqloom.evaluation.metric import Scores, Statistics, ratio
from seqloom.evaluation.sacre import SacreMetric
from seqloom.evaluation.settings import Tokenizer
from seqloom.settings import UserError

ORDER = 4  # the longest n-grams
LOG_ZERO = -9999999999.0  # sacreBLEU's logarithm of nothing

# numpy's own differ from Python's in the last bit here and there, and a score must be sacreBLEU's to that bit
_python_log = np.frompyfunc(lambda value: math.log(value) if value > 0 else LOG_ZERO, 1, 1)
_python_exp = np.frompyfunc(math.exp, 1, 1)


def _log(values: Scores) -> Scores:
    return np.asarray(_python_log(values), float)


def _exp(values: Scores) -> Scores:
    return np.asarray(_python_exp(values), float)


class Bleu(SacreMetric):
    """In percent, with exponential smoothing of orders without a match, as sacreBLEU does by default."""

    name, title = "bleu", "BLEU"

    def __init__(self, tokenize: Tokenizer = "13a", lowercase: bool = False) -> None:
        try:  # forced: text that looks tokenised is no reason for a warning at each use
            counter = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
        except (ImportError, RuntimeError) as error:
            why = " ".join(str(error).split())
            raise UserError(f"evaluation.bleu.tokenize = {tokenize!r} needs more than is installed: {why}") from None
        self.tokenize: Tokenizer = tokenize
        super().__init__(counter, 2 + 2 * ORDER)

    def possible(self, references: Iterable[Iterable[str]]) -> bool:
        """Whether any reference has tokens enough: where none has, not even the references themselves score above 0."""
        return any(len(self.words(text)) >= ORDER for texts in references for text in texts)

    def words(self, text: str) -> list[str]:
        """The tokens that are counted."""
        return list(self.counter._preprocess_segment(text).split())

    def score(self, total_D: Statistics) -> Scores:
        return self._score(total_D, effective=False)

    def each(self, stats_ND: Statistics) -> Scores:
        """Without the orders that a short sentence has no n-grams of: it could never have any."""
        return self._score(stats_ND, effective=True)

    def _score(self, total_D: Statistics, effective: bool) -> Scores:
        total_D = np.asarray(total_D, float)
        length, wanted = total_D[..., 0], total_D[..., 1]
        right, all_ = total_D[..., 2 : 2 + ORDER], total_D[..., 2 + ORDER :]
        halved, summed, orders = np.ones(length.shape), np.zeros(length.shape), np.zeros(length.shape)
        going = np.ones(length.shape, bool)
        for n in range(ORDER):
            going &= all_[..., n] > 0  # an order without n-grams ends the loop, for the higher ones have none either
            missed = going & (right[..., n] == 0)
            halved = np.where(missed, 2 * halved, halved)
            precision = np.where(
                missed,
                ratio(np.full(halved.shape, 100.0), halved * all_[..., n]),
                ratio(100.0 * right[..., n], all_[..., n]),
            )
            counted = going if effective else np.ones_like(going)
            summed = summed + np.where(counted, _log(np.where(going, precision, 0.0)), 0.0)
            orders = orders + counted
        short = np.where(length < wanted, 1 - ratio(wanted, length), 0.0)
        penalty = np.where((length > 0) | (wanted == 0), _exp(short), 0.0)
        # sacreBLEU gives 100.00000000000004 where all is right
        scores = np.minimum(penalty * _exp(summed / np.maximum(orders, 1)), 100.0)
        return np.where(right.any(-1), scores, 0.0)
