"""Translation edit rate (Snover et al. 2006), counted by sacreBLEU."""

import numpy as np
from sacrebleu.metrics.ter import TER

from seqloom.evaluation.metric import Scores, Statistics, ratio
from seqloom.evaluation.sacre import SacreMetric


class Ter(SacreMetric):
    """Edits, with moves of whole phrases, in percent of the references' words. Blind to case, as Tercom is."""

    name, title, higher_is_better = "ter", "TER", False

    def __init__(self, lowercase: bool = True) -> None:
        super().__init__(TER(case_sensitive=not lowercase), 2)

    def score(self, total_D: Statistics) -> Scores:
        edits, length = total_D[..., 0], total_D[..., 1]
        return 100 * np.where(length > 0, ratio(edits, length), np.asarray(edits > 0, float))
