"""The Porter stemmer (Porter 1980), with the departures that NLTK took over: what rouge-score stems with."""

import re
from functools import lru_cache

# words that the rules would stem wrongly
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
} | {word: word for word in ("news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")}

# ending → what takes its place, where the stem before it has a measure above 0; the first that fits decides
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
# dropped, where the stem has a measure above 1
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _y, _double, _suffix, _last, _final):
        word = step(word)
    return word


def _form(word: str) -> str:
    """Vowels as v, consonants as c; y is a vowel behind a consonant."""
    form = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and form.endswith("c"))
        form += "v" if vowel else "c"
    return form


def _measure(word: str) -> int:
    """How many times a consonant follows upon a vowel."""
    return _form(word).count("vc")


def _short(word: str) -> bool:
    """Porter's *o: consonant, vowel, consonant other than w, x, y; or, as NLTK, a word of vowel and consonant."""
    form = _form(word)
    return (form.endswith("cvc") and word[-1] not in "wxy") or form == "vc"


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _form(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if len(cut) > 1 and cut[-1] == cut[-2] and _form(cut)[-1] == "c":
        return cut if cut[-1] in "lsz" else cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _short(cut) else cut


def _y(word: str) -> str:
    return word[:-1] + "i" if re.search("..y$", word) and _form(word[:-1])[-1] == "c" else word


def _double(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _STEP_2)


def _suffix(word: str) -> str:
    return _replaced(word, _STEP_3)


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for ending, other in rules:
        if word.endswith(ending):
            cut = word[: -len(ending)]
            return cut + other if _measure(cut) > 0 else word
    return word


def _last(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            cut = word[: -len(ending)]
            fits = _measure(cut) > 1 and (ending != "ion" or cut.endswith(("s", "t")))
            return cut if fits else word
    return word


def _final(word: str) -> str:
    if word.endswith("e"):
        cut = word[:-1]
        if _measure(cut) > 1 or (_measure(cut) == 1 and not _short(cut)):
            word = cut
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
