"""How dates are written in each language: the patterns, names and digits of CLDR, through Babel.

A pattern is compiled once into pieces, each a table of all texts that it can show; writing a date is then a few
lookups, many times faster than Babel's `format_date`, which reads the pattern again for each date.
"""

import re
from dataclasses import dataclass
from typing import Literal

from babel import Locale
from babel.dates import tokenize_pattern

YEARS = range(1950, 2050)

LANGUAGES = (
    *("en-US", "en-GB", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "sl", "hu", "ro"),
    *("bg", "ru", "uk", "el", "tr", "ar", "he", "fa", "hi", "bn", "mr", "th", "vi", "id", "ja", "zh", "ko", "ca", "hr"),
    *("lt", "lv", "et"),
)
ISO = "iso"  # not a language, but a way to write dates that people of all languages share

# In these languages a month has another form, or a weekday has, when it stands alone ("3 maja", but "maj"). The
# others have one form; Babel must not be asked for theirs, as it then answers with those of whichever language was
# asked before (Babel issue 1234).
STAND_ALONE_MONTHS = frozenset({"fi", "pl", "cs", "sk", "ru", "uk", "el", "fa", "ca", "hr", "lt"})
STAND_ALONE_DAYS = frozenset({"fi"})

_SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEEEEd")

# Not in CLDR, but common; "ddd" is our sign for the day as an ordinal.
_FURTHER = {
    "en-US": ("MMMM ddd, y", "EEEE, MMMM ddd, y"),
    "en-GB": ("ddd MMMM y", "ddd 'of' MMMM y", "'the' ddd 'of' MMMM, y", "EEEE ddd MMMM y"),
    "fr": ("ddd MMMM y", "EEEE ddd MMMM y"),
    "it": ("ddd MMMM y",),
    "pt": ("ddd 'de' MMMM 'de' y",),
    ISO: ("y-MM-dd", "y/MM/dd", "yMMdd"),
}
_FIRST = {"fr": "1er", "it": "1º", "pt": "1º"}

# Digits of the language's own script: their zero, and how often they are written in place of 0-9.
_DIGITS = {
    "ar": ("٠", 0.5),
    "fa": ("۰", 0.8),
    "hi": ("०", 0.3),
    "mr": ("०", 0.8),
    "bn": ("০", 0.8),
    "th": ("๐", 0.15),
}

Kind = Literal["text", "year", "month", "day", "month name", "weekday"]
_PLACE: dict[Kind, int] = {"year": 0, "month": 1, "month name": 1, "day": 2, "weekday": 3, "text": 4}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a pattern: all that it can show, and which number of a `Day` picks from it."""

    kind: Kind
    table: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A way to write a date."""

    pieces: tuple[Piece, ...]
    order: str = ""
    """`dmy`, `mdy` or `ymd` where only the order tells which number is which; empty where names or signs tell."""
    dotted: bool = False
    """Whether dots are between those numbers."""


@dataclass(frozen=True)
class Language:
    """A language's ways to write a date, with 0-9 and with its own digits."""

    code: str
    latin: tuple[Pattern, ...]
    native: tuple[Pattern, ...] = ()
    native_share: float = 0.0


def language(code: str) -> Language:
    """All patterns of a language."""
    formats = list(_FURTHER.get(code, ())) if code == ISO else _formats(code)
    latin = tuple(compiled(text, code) for text in formats)
    if code not in _DIGITS:
        return Language(code, _distinct(latin))
    zero, share = _DIGITS[code]
    return Language(code, _distinct(latin), _distinct(tuple(compiled(text, code, zero) for text in formats)), share)


def _formats(code: str) -> list[str]:
    locale = Locale.parse(code, sep="-")
    formats = [locale.date_formats[length].pattern for length in ("full", "long", "medium", "short")]
    skeletons = locale.datetime_skeletons
    formats += [skeletons[name].pattern for name in _SKELETONS if name in skeletons]
    # CLDR's own rule for widths that a language does not list: take the nearest pattern and change the width
    formats += [re.sub("(?<!M)MMM(?!M)", "MMMM", text) for text in formats]
    formats += [re.sub("(^|(?<= ))(EEEE|cccc)(?=[ ,،]|$)", lambda found: found[0][:3], text) for text in formats]
    if code in STAND_ALONE_MONTHS:
        formats.append(locale.date_formats["long"].pattern.replace("MMMM", "LLLL"))
    formats += _FURTHER.get(code, ())
    # keyboards have neither narrow spaces nor marks of direction
    formats += [re.sub("[\u202f\u00a0]", " ", text).replace("\u200f", "") for text in formats]
    return list(dict.fromkeys(formats))


def _distinct(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    return tuple(dict.fromkeys(patterns))


def compiled(text: str, code: str, zero: str = "0") -> Pattern:
    """A pattern of CLDR, ready to write dates with."""
    pieces = [_piece(token, code, zero) for token in tokenize_pattern(text)]
    numbers = [place for place, piece in enumerate(pieces) if piece.kind in ("year", "month", "day")]
    between = "".join(piece.table[0] for piece in pieces[numbers[0] : numbers[-1]] if piece.kind == "text")
    if len(numbers) < 3 or re.search("[年년]", between):
        return Pattern(tuple(pieces))
    return Pattern(tuple(pieces), "".join(pieces[place].kind[0] for place in numbers), dotted="." in between)


def _piece(token: tuple[str, str | tuple[str, int]], code: str, zero: str) -> Piece:
    match token:
        case ("chars", str(text)):
            return _made("text", [text])
        case ("field", ("y", int(width))):
            return _made("year", [f"{year % 100:02}" if width == 2 else str(year) for year in YEARS], zero)
        case ("field", ("M" | "L", 1 | 2 as width)):
            return _made("month", [f"{month:0{width}}" for month in range(1, 13)], zero)
        case ("field", ("M" | "L" as letter, int(width))):
            return _made("month name", month_names(code, letter == "L", width == 4))
        case ("field", ("d", 1 | 2 as width)):
            return _made("day", [f"{day:0{width}}" for day in range(1, 32)], zero)
        case ("field", ("d", 3)):
            return _made("day", [_ordinal(day, code) for day in range(1, 32)])
        case ("field", ("E" | "c" as letter, int(width))):
            return _made("weekday", weekday_names(code, letter == "c", width == 4))
        case ("field", ("G", _)):
            return _made("text", [Locale.parse(code, sep="-").eras["abbreviated"][1]])
    raise ValueError(f"{code}: no way to write {token!r}")


def _made(kind: Kind, table: list[str], zero: str = "0") -> Piece:
    if zero != "0":
        digits = {ord("0") + number: chr(ord(zero) + number) for number in range(10)}
        table = [text.translate(digits) for text in table]
    return Piece(kind, tuple(table), _PLACE[kind])


def month_names(code: str, alone: bool, wide: bool) -> list[str]:
    """January to December."""
    context: Literal["stand-alone", "format"] = "stand-alone" if alone and code in STAND_ALONE_MONTHS else "format"
    names = Locale.parse(code, sep="-").months[context]["wide" if wide else "abbreviated"]
    return [names[month] for month in range(1, 13)]


def weekday_names(code: str, alone: bool, wide: bool) -> list[str]:
    """Monday to Sunday."""
    context: Literal["stand-alone", "format"] = "stand-alone" if alone and code in STAND_ALONE_DAYS else "format"
    names = Locale.parse(code, sep="-").days[context]["wide" if wide else "abbreviated"]
    return [names[day] for day in range(7)]


def _ordinal(day: int, code: str) -> str:
    if not code.startswith("en"):
        return _FIRST[code] if day == 1 else str(day)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") if day not in (11, 12, 13) else "th"
    return f"{day}{ending}"
