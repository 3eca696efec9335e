"""GLEU (Wu et al. 2016): the mean over sentences of the lesser of precision and recall of their n-grams."""

from collections.abc import Sequence

import numpy as np

from seqloom import __version__
from seqloom.evaluation.bleu import Bleu
from seqloom.evaluation.metric import Metric, Scores, Statistics, ratio
from seqloom.evaluation.settings import Tokenizer
from seqloom.text.gleu import ORDER, ngrams, sentence_gleu


class Gleu(Metric[str]):
    """In percent. Texts are cut into words as for BLEU. Of several references the one with the highest score counts."""

    name, title = "gleu", "GLEU"

    def __init__(self, tokenize: Tokenizer = "13a", lowercase: bool = False) -> None:
        self.bleu, self.lowercase = Bleu(tokenize, lowercase), lowercase

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        said = [ngrams(self.bleu.words(text)) for text in hypotheses]
        best = np.zeros(len(said))
        for texts in references:
            wanted = [ngrams(self.bleu.words(text)) for text in texts]
            best = np.maximum(best, [sentence_gleu(*pair) for pair in zip(said, wanted, strict=True)])
        return np.stack([best, np.ones_like(best)], -1)

    def score(self, total_D: Statistics) -> Scores:
        return 100 * ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        case = "lc" if self.lowercase else "mixed"
        return f"nrefs:{references}|case:{case}|tok:{self.bleu.tokenize}|order:{ORDER}|version:seqloom-{__version__}"
