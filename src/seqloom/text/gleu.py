"""GLEU of one sentence (Wu et al. 2016, section 4): a score that a single answer can have, and so a reward."""

from collections import Counter
from collections.abc import Hashable, Sequence

ORDER = 4  # the longest n-grams

Ngrams = Counter[tuple[Hashable, ...]]


def ngrams(tokens: Sequence[Hashable]) -> Ngrams:
    """All runs of one to four tokens, with how often each is there."""
    return Counter(tuple(tokens[at : at + n]) for n in range(1, ORDER + 1) for at in range(len(tokens) - n + 1))


def sentence_gleu(said: Ngrams, wanted: Ngrams) -> float:
    """The lesser of precision and recall of all n-grams together, from 0 to 1.

    Wu et al. 2016, section 4. Both have the same hits, so it is hits / the larger number. Two empty sentences are
    equal: 1, where the fraction says nothing.
    """
    larger = max(said.total(), wanted.total())
    return (said & wanted).total() / larger if larger else 1.0
