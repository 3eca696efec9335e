"""When a written date could mean two: such dates are left out, as no reader could tell.

Three things cause doubt. Numbers alone: 03/04/2019 is April in London and March in New York. False friends:
"listopada" is October in Croatian and November in Polish. Misspelt names that come near another month's.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from seqloom.jobs.demos.date_locales import YEARS, month_names, weekday_names


def full_year(written: int) -> int | None:
    """A year as written; two digits stand for 1950 to 2049. None where it is out of that range."""
    if written < 100:
        written += YEARS.start // 100 * 100
        written += 100 if written < YEARS.start else 0
    return written if written in YEARS else None


def readings(numbers: tuple[int, int, int], dotted: bool) -> set[date]:
    """All dates that three numbers could mean, in the orders that people use; with dots nobody puts months first."""
    found = set()
    for order in ("dmy", "ymd") if dotted else ("dmy", "mdy", "ymd"):
        parts = dict(zip(order, numbers, strict=True))
        year = full_year(parts["y"])
        if year is None or parts["m"] > 12 or parts["d"] > 31:
            continue
        try:
            found.add(date(year, parts["m"], parts["d"]))
        except ValueError:  # the 30th of February
            continue
    return found


# Letters beyond those that Unicode knows as a letter with a mark.
_PLAIN = {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i"}
for _code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
    _base = unicodedata.normalize("NFD", chr(_code))[0]
    if _base.isascii() and _base.isalpha():
        _PLAIN[chr(_code)] = _base
_PLAIN_LETTERS = str.maketrans(_PLAIN)


def plain(text: str) -> str:
    """Latin letters without their marks; other scripts as they are, where marks are letters of their own."""
    return text.translate(_PLAIN_LETTERS)


def key(name: str) -> str:
    """What is left of a name when case, marks and dots do not count."""
    return plain(name.casefold()).replace(".", "").replace("\u0307", "")


def _near(word: str) -> set[str]:
    """A word and what is left of it without one letter: two words that are one slip apart share one of these."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


_FORMS = [(alone, wide) for alone in (False, True) for wide in (False, True)]


class Names:
    """The names of months and weekdays in several languages: which could be taken for which."""

    def __init__(self, codes: Iterable[str]) -> None:
        self._months: dict[str, dict[str, int]] = {}
        self._weekdays: dict[str, set[str]] = {}
        self._near: dict[str, set[int]] = defaultdict(set)
        for code in codes:
            self._months[code] = {
                key(name): month for form in _FORMS for month, name in enumerate(month_names(code, *form), start=1)
            }
            self._weekdays[code] = {key(name) for form in _FORMS for name in weekday_names(code, *form)}
            for name, month in self._months[code].items():
                for part in _near(name):
                    self._near[part].add(month)

    def false_friends(self, code: str) -> dict[str, list[str]]:
        """The names of months, in a language, that mean another month elsewhere, each with those other languages."""
        found = {}
        for name in {name for form in _FORMS for name in month_names(code, *form)}:
            month = self._months[code][key(name)]
            rivals = [other for other, months in self._months.items() if months.get(key(name), month) != month]
            if rivals:
                found[name] = rivals
        return found

    def tells(self, weekday: str, rivals: list[str]) -> bool:
        """Whether a weekday shows that a date is in none of these languages."""
        return not any(key(weekday) in self._weekdays[rival] for rival in rivals)

    def near(self, word: str) -> set[int]:
        """The months, in any language, that have a name at most one slip away (and a few two away)."""
        found: set[int] = set()
        for part in _near(key(word)):
            found |= self._near.get(part, set())
        return found
