"""ROUGE (Lin 2004): n-grams and longest common subsequences, as the package rouge-score counts them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from seqloom import __version__
from seqloom.evaluation.edit_distance import common_length
from seqloom.evaluation.metric import Metric, Scores, Statistics, ratio
from seqloom.evaluation.porter import stem

Variant = Literal["1", "2", "L", "Lsum"]
Tokens = Literal["ascii", "unicode"]
_TOKENS: dict[Tokens, re.Pattern[str]] = {"ascii": re.compile(r"[a-z0-9]+"), "unicode": re.compile(r"\w+")}
SHORT = 3  # letters of a word that is not stemmed


class Rouge(Metric[str]):
    """The mean F1 of the examples, in percent. Of several references the one with the highest counts.

    tokens: "ascii" is what everyone counts, and cuts words at every other letter; "unicode" for other scripts. The
    sentences of a summary, for Lsum, stand on lines of their own.
    """

    def __init__(self, variant: Variant = "L", stemmed: bool = False, tokens: Tokens = "ascii") -> None:
        self.variant, self.stemmed, self.tokens = variant, stemmed, tokens
        self.name, self.title = f"rouge{variant}", f"ROUGE-{variant}"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Statistics:
        best = np.zeros(len(hypotheses))
        for texts in references:
            best = np.maximum(best, self._f1(hypotheses, texts))
        return np.stack([best, np.ones_like(best)], -1)

    def score(self, total_D: Statistics) -> Scores:
        return 100 * ratio(total_D[..., 0], total_D[..., 1])

    def signature(self, references: int = 1) -> str:
        stemmer = "porter" if self.stemmed else "none"
        return f"nrefs:{references}|case:lc|tok:{self.tokens}|stem:{stemmer}|version:seqloom-{__version__}"

    def words(self, text: str) -> list[str]:
        found = _TOKENS[self.tokens].findall(text.lower())
        return [stem(word) if len(word) > SHORT else word for word in found] if self.stemmed else found

    def _f1(self, hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
        if self.variant == "Lsum":
            summaries = zip(map(self._sentences, hypotheses), map(self._sentences, references), strict=True)
            return _f1(_summary(said, wanted) for said, wanted in summaries)
        pairs = [(self.words(one), self.words(other)) for one, other in zip(hypotheses, references, strict=True)]
        if self.variant == "L":
            return _f1((common_length(one, other), len(one), len(other)) for one, other in pairs)
        return _f1(_ngrams(one, other, int(self.variant)) for one, other in pairs)

    def _sentences(self, text: str) -> list[list[str]]:
        return [self.words(line) for line in text.split("\n") if line]


def _f1(counts: Iterable[tuple[int, int, int]]) -> Scores:
    """Of hits, what was said and what was wanted."""
    hits, said, wanted = np.array(list(counts), float).reshape(-1, 3).T
    precision, recall = ratio(hits, said), ratio(hits, wanted)
    return ratio(2 * precision * recall, precision + recall)


def _ngrams(said: Sequence[str], wanted: Sequence[str], n: int) -> tuple[int, int, int]:
    one, other = (Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (said, wanted))
    return (one & other).total(), one.total(), other.total()


def _summary(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """Lin 2004, section 3.2: what a reference's sentence has in common with any said; a word is used up by a hit."""
    left_said, left_wanted = (Counter(word for words in part for word in words) for part in (said, wanted))
    counts = left_said.total(), left_wanted.total()
    hits = 0
    for words in wanted:
        for at in sorted(set[int]().union(*(_common_places(words, other) for other in said))):
            if left_said[words[at]] > 0 and left_wanted[words[at]] > 0:
                hits += 1
                left_said[words[at]] -= 1
                left_wanted[words[at]] -= 1
    return hits, *counts


def _common_places(wanted: Sequence[str], said: Sequence[str]) -> list[int]:
    """Where in `wanted` one longest common subsequence stands; of several, the one that rouge-score takes."""
    table = [[0] * (len(said) + 1)]
    for word in wanted:
        above, row = table[-1], [0]
        for at, other in enumerate(said):
            row.append(above[at] + 1 if word == other else max(above[at + 1], row[at]))
        table.append(row)
    places, row_at, at = list[int](), len(wanted), len(said)
    while row_at and at:
        if wanted[row_at - 1] == said[at - 1]:
            places.append(row_at - 1)
            row_at, at = row_at - 1, at - 1
        elif table[row_at][at - 1] > table[row_at - 1][at]:
            at -= 1
        else:
            row_at -= 1
    return places
