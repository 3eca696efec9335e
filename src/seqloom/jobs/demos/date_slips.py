"""What people do to dates when they type them: case, commas, dots, spaces, accents, misspelt names.

No slip touches a digit, so that the answer stays certain; a misspelt month must still be nearest to the true one.
"""

import re
import unicodedata
from dataclasses import dataclass
from random import Random

from seqloom.jobs.demos.date_doubt import Names, plain
from seqloom.jobs.demos.date_locales import Kind

NAMES: tuple[Kind, ...] = ("month name", "weekday")
_SHORTEST = 4  # a name of three letters with one of them wrong could be anything
_TRIES = 4
_NUMBERS = re.compile(r"\d+")


@dataclass(slots=True)
class Part:
    """A piece of a pattern as it is being written; `month` is 1 to 12 where it is a month's name."""

    kind: Kind
    text: str
    month: int = 0


# Each slip with its weight, in the order in which they are made when there are several: names are misspelt before
# they change case, commas go before spaces.
SLIPS = {"misspell": 5, "accents": 2, "dots": 3, "commas": 3, "space lost": 2, "space doubled": 2, "case": 6}
HARMLESS = {"case": 1}
"""What may be done to a date that only its exact words keep from doubt."""


def with_slips(parts: list[Part], code: str, numeric: bool, allowed: dict[str, int], names: Names, rng: Random) -> str:
    """Write the parts with one or two slips; those that do not apply to them, or would join numbers, change nothing."""
    before = "".join(part.text for part in parts)
    chosen = rng.choices(list(allowed), weights=list(allowed.values()), k=1 if rng.random() < 0.7 else 2)
    for name in allowed:
        if name in chosen:
            _make(name, parts, code, numeric, names, rng)
    after = "".join(part.text for part in parts)
    return after if _NUMBERS.findall(after) == _NUMBERS.findall(before) else before


def _make(name: str, parts: list[Part], code: str, numeric: bool, names: Names, rng: Random) -> None:
    match name:
        case "misspell":
            _misspell(parts, names, rng)
        case "accents":
            for part in parts:
                part.text = plain(part.text) if part.kind in NAMES else part.text
        case "dots":
            for part in parts:
                if not numeric or part.kind in NAMES:  # between numbers alone dots carry the order
                    part.text = part.text.replace(".", "")
        case "commas":
            for part in parts:
                part.text = re.sub("[,،]", "", part.text)
        case "space lost":
            _space(parts, "", rng)
        case "space doubled":
            _space(parts, "  ", rng)
        case "case":
            _case(parts, code, rng)


def _space(parts: list[Part], instead: str, rng: Random) -> None:
    spaced = [part for part in parts if part.kind == "text" and " " in part.text]
    if spaced:
        part = rng.choice(spaced)
        part.text = part.text.replace(" ", instead, 1)


def _case(parts: list[Part], code: str, rng: Random) -> None:
    style = rng.choice(("lower", "lower", "upper", "names"))
    for part in parts:
        if style == "lower":
            part.text = lower(part.text, code)
        elif style == "upper":
            part.text = upper(part.text, code)
        elif part.kind in NAMES:
            part.text = upper(part.text[:1], code) + part.text[1:]


def lower(text: str, code: str) -> str:
    """Small letters, as the language has them."""
    return (text.replace("I", "ı").replace("İ", "i") if code == "tr" else text).lower()


def upper(text: str, code: str) -> str:
    """Capitals, as the language has them: Turkish keeps its dots, Greek drops its accents."""
    if code == "tr":
        return text.replace("i", "İ").upper()
    if code == "el":
        letters = unicodedata.normalize("NFD", text.upper()).replace("\u0301", "")
        return unicodedata.normalize("NFC", letters)
    return text.upper()


def _misspell(parts: list[Part], names: Names, rng: Random) -> None:
    long = [part for part in parts if part.kind in NAMES and _can_be_misspelt(part.text)]
    if not long:
        return
    part = rng.choice(long)
    for _ in range(_TRIES):
        text = misspelt(part.text, rng)
        meant = {part.month} if part.kind == "month name" else set()
        if names.near(text) == meant:
            part.text = text
            return


def _can_be_misspelt(name: str) -> bool:
    return sum(map(str.isalpha, name)) >= _SHORTEST and not _NUMBERS.search(name)


def misspelt(name: str, rng: Random) -> str:
    """A name with two letters swapped, or one dropped, doubled or replaced."""
    letters = [place for place, sign in enumerate(name) if sign.isalpha()]
    place = rng.choice(letters)
    sign, before, after = name[place], name[:place], name[place + 1 :]
    match rng.randrange(4):
        case 0 if after[:1].isalpha():
            return before + after[0] + sign + after[1:]
        case 1:
            return before + after
        case 2:
            return before + sign + sign + after
        case _:
            return before + name[rng.choice(letters)] + after
