"""Number words ↔ digits, in twelve languages.

Words are read as they are: "vierhunderteinundzwanzig" → "421". The way back needs to know the language, so it is
written before the digits: "de: 421" → "vierhunderteinundzwanzig". Numbers lie evenly on a logarithmic scale, so that
short ones are as common as long ones. No number of the test or the validation is in the training set, in any language
or direction; those below 100 are all in training, as they are the words that the others are made of.
"""

from collections.abc import Collection
from random import Random

from seqloom.jobs.demos.example import Demo, Example, without_clashes
from seqloom.jobs.demos.extras import need

# Those whose words num2words gets right up to a million; in Spanish, for one, it says "veintiuno mil".
LANGUAGES = ("en", "de", "fr", "it", "pt", "nl", "pl", "ru", "tr", "fi", "id", "ja")
LARGEST = 999_999
FIRST_HELD_OUT = 100
TRAINED = 100_000  # the most for a language: to draw more, and all distinct, would take ever longer
TESTED, VALIDATED = 400, 150  # distinct numbers: few, so that most of those with three digits stay in training


def make_numbers(seed: int = 1, train: int = 96_000, valid: int = 960, test: int = 2_880) -> Demo:
    """As many examples as asked for, or as there are, evenly over the languages and both directions."""
    num2words = need("num2words", "demos", "numbers").num2words
    rng = Random(seed)
    held_out = _draw(TESTED + VALIDATED, FIRST_HELD_OUT, (), rng)
    tested, validated = held_out[:TESTED], held_out[TESTED:]
    wanted = [_each(train, TRAINED), _each(valid, VALIDATED), _each(test, TESTED)]
    splits: list[list[Example]] = [[], [], []]
    for code in LANGUAGES:
        small = list(range(FIRST_HELD_OUT))
        large = _draw(max(0, wanted[0] - len(small)), FIRST_HELD_OUT, held_out, rng)
        chosen = [(small + large)[: wanted[0]], rng.sample(validated, wanted[1]), rng.sample(tested, wanted[2])]
        for split, some in zip(splits, chosen, strict=True):
            for number in some:
                split += _both_ways(number, num2words(number, lang=code), code)
    for split in splits:
        rng.shuffle(split)
    title = f"number words ↔ digits in {len(LANGUAGES)} languages"
    return Demo("numbers", title, "pairs", *without_clashes(*splits))


def _each(count: int, most: int) -> int:
    """How many numbers a language gives to a split of this size; each is there in both directions."""
    return min(count // (2 * len(LANGUAGES)), most)


def _draw(count: int, least: int, but: Collection[int], rng: Random) -> list[int]:
    """Distinct numbers from `least` on, evenly on a logarithmic scale."""
    drawn: dict[int, None] = {}
    taken = frozenset(but)
    while len(drawn) < count:
        number = int(least * ((LARGEST + 1) / least) ** rng.random())
        if number not in taken:
            drawn[number] = None
    return list(drawn)


def _both_ways(number: int, words: str, code: str) -> list[Example]:
    return [
        Example(words, str(number), f"{code} words → digits"),
        Example(f"{code}: {number}", words, f"{code} digits → words"),
    ]
