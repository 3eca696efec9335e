"""chrF and chrF++ (Popović 2015, 2017), counted by sacreBLEU."""

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from seqloom.evaluation.metric import Scores, Statistics, ratio
from seqloom.evaluation.sacre import SacreMetric


class Chrf(SacreMetric):
    """In percent: F2 of character n-grams up to six; with words=2 (chrF++) of word n-grams up to two as well."""

    def __init__(self, words: int = 0, lowercase: bool = False) -> None:
        self.name, self.title = "chrf" + "+" * words, "chrF" + "+" * words
        counter = CHRF(word_order=words, lowercase=lowercase)
        super().__init__(counter, 3 * counter.order)

    def score(self, total_D: Statistics) -> Scores:
        total_D = np.asarray(total_D, float)
        precision, recall, orders = (np.zeros(total_D.shape[:-1]) for _ in range(3))
        for n in range(self.counter.order):  # one after the other, for the last bit
            said, wanted, right = (total_D[..., 3 * n + at] for at in range(3))
            both = (said > 0) & (wanted > 0)
            precision = precision + np.where(both, ratio(right, said), 0.0)
            recall = recall + np.where(both, ratio(right, wanted), 0.0)
            orders = orders + both
        precision, recall = ratio(precision, orders), ratio(recall, orders)
        factor = self.counter.beta**2
        return 100 * ratio((1 + factor) * precision * recall, factor * precision + recall)
