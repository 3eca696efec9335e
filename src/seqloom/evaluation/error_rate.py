"""Word, phoneme and character error rates."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from seqloom import __version__
from seqloom.evaluation.edit_distance import edit_distance
from seqloom.evaluation.metric import Metric, Scores, Statistics, ratio

Unit = Literal["word", "phoneme", "character"]
_NAMES: dict[Unit, str] = {"word": "wer", "phoneme": "per", "character": "cer"}


class ErrorRate(Metric[str]):
    """Edits in percent of the reference's length; above 100 where much is inserted.

    Words and phonemes stand between spaces, whichever Unicode has, no-break spaces too; white space at the ends of a
    text is no character of it. Of several references the one with the lowest rate counts, the first of equals. Edits
    against nothing at all are 100 %.
    """

    higher_is_better = False

    def __init__(self, unit: Unit = "word", lowercase: bool = False) -> None:
        self.unit, self.lowercase = unit, lowercase
        self.name, self.title = _NAMES[unit], _NAMES[unit].upper()

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        said = [self._split(text) for text in hypotheses]
        rows = []
        for texts in references:
            wanted = [self._split(text) for text in texts]
            rows.append([(edit_distance(goal, one), len(goal)) for one, goal in zip(said, wanted, strict=True)])
        stats_RND = np.array(rows, np.int64).reshape(len(references), len(said), 2)
        best_N = self.score(stats_RND).argmin(0)
        return stats_RND[best_N, np.arange(len(said))]

    def score(self, total_D: Statistics) -> Scores:
        edits, length = total_D[..., 0], total_D[..., 1]
        return 100 * np.where(length > 0, ratio(edits, length), np.asarray(edits > 0, float))

    def signature(self, references: int = 1) -> str:
        case = "lc" if self.lowercase else "mixed"
        split = "" if self.unit == "character" else "|split:unicode-spaces"
        return f"nrefs:{references}|case:{case}|unit:{self.unit}{split}|version:seqloom-{__version__}"

    def _split(self, text: str) -> Sequence[str]:
        text = text.lower() if self.lowercase else text
        return text.strip() if self.unit == "character" else text.split()
