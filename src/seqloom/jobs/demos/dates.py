"""Dates as people write them, in many languages → ISO 8601.

Split by calendar day: no day of the test or of the validation is in the training set, in any language. How a date
that could mean two is kept out: docs/decisions/0012-the-dates-demo.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from seqloom.jobs.demos.date_doubt import Names, readings
from seqloom.jobs.demos.date_locales import ISO, LANGUAGES, YEARS, Language, Pattern, language
from seqloom.jobs.demos.date_slips import HARMLESS, SLIPS, Part, with_slips
from seqloom.jobs.demos.example import Demo, Example, without_clashes

TEST_SHARE, VALID_SHARE = 0.07, 0.03  # of all calendar days

REPEATS = 20  # so many known texts in a row mean that a way of writing is used up; from then on they are taken again


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day, and its places in the tables of a pattern's pieces: year, month, day, weekday, text."""

    date: date
    iso: str
    places: tuple[int, int, int, int, int]


def make_dates(seed: int = 1, train: int = 120_000, valid: int = 1_000, test: int = 3_000, slips: float = 0.4) -> Demo:
    """As many examples as asked for, each language as often as the others; `slips` is the share to try slips on."""
    rng = Random(seed)
    start = date(YEARS.start, 1, 1)
    days = [day_of(start + timedelta(number)) for number in range((date(YEARS.stop, 1, 1) - start).days)]
    rng.shuffle(days)
    first, second = round(len(days) * TEST_SHARE), round(len(days) * (TEST_SHARE + VALID_SHARE))
    writer = Writer((*LANGUAGES, ISO), slips, rng)
    tested = writer.examples(days[:first], test)
    validated = writer.examples(days[first:second], valid)
    trained = writer.examples(days[second:], train)
    title = f"dates in {len(LANGUAGES) - 1} languages → ISO 8601"  # English is there twice
    return Demo("dates", title, "pairs", *without_clashes(trained, validated, tested))


def day_of(day: date) -> Day:
    """A day, ready to be written."""
    return Day(day, day.isoformat(), (day.year - YEARS.start, day.month - 1, day.day - 1, day.weekday(), 0))


class Writer:
    """Writes days in several languages, no text twice as long as there are others."""

    def __init__(self, codes: Sequence[str], slips: float, rng: Random) -> None:
        self._languages = [language(code) for code in codes]
        self._names = Names(code for code in codes if code != ISO)
        self._false_friends = {code: self._names.false_friends(code) for code in codes if code != ISO}
        self._slips = slips
        self._rng = rng
        self._written: set[tuple[str, str]] = set()

    def examples(self, days: Sequence[Day], count: int) -> list[Example]:
        """Examples of these days, the languages by turns."""
        return [self._example(self._languages[number % len(self._languages)], days) for number in range(count)]

    def _example(self, language: Language, days: Sequence[Day]) -> Example:
        repeats = 0
        while True:
            day = days[int(self._rng.random() * len(days))]
            text = self.write(day, language)
            if text is None:
                continue
            if (text, day.iso) not in self._written or repeats == REPEATS:
                self._written.add((text, day.iso))
                return Example(text, day.iso, language.code)
            repeats += 1

    def write(self, day: Day, language: Language) -> str | None:
        """The day in one of the language's ways; None where a reader could not tell which day is meant."""
        rng = self._rng
        patterns = language.native if rng.random() < language.native_share else language.latin
        pattern = patterns[int(rng.random() * len(patterns))]
        if pattern.order and not _certain(pattern, day):
            return None
        friends = self._false_friends.get(language.code)
        allowed = self._allowed(pattern, day, friends) if friends else SLIPS
        if allowed is None:
            return None
        places = day.places
        if rng.random() >= self._slips:
            return "".join([piece.table[places[piece.place]] for piece in pattern.pieces])
        month = day.date.month
        parts = [
            Part(piece.kind, piece.table[places[piece.place]], month if piece.kind == "month name" else 0)
            for piece in pattern.pieces
        ]
        return with_slips(parts, language.code, bool(pattern.order), allowed, self._names, rng)

    def _allowed(self, pattern: Pattern, day: Day, friends: dict[str, list[str]]) -> dict[str, int] | None:
        """The slips that leave the date certain; None where it is not even without."""
        shown = {piece.kind: piece.table[day.places[piece.place]] for piece in pattern.pieces}
        rivals = friends.get(shown.get("month name", ""))
        if rivals is None:
            return SLIPS
        return HARMLESS if "weekday" in shown and self._names.tells(shown["weekday"], rivals) else None


def _certain(pattern: Pattern, day: Day) -> bool:
    """Whether the numbers of a pattern that has nothing else can be read in one way only."""
    year = next(int(piece.table[day.places[0]]) for piece in pattern.pieces if piece.kind == "year")
    shown = {"y": year, "m": day.date.month, "d": day.date.day}
    first, second, third = (shown[part] for part in pattern.order)
    return len(readings((first, second, third), pattern.dotted)) == 1
