"""A line of JSON → a question: a source with wishes, or a row of a table such as one trains on."""

import json
import math
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from seqloom.data.reading.json_lines import names_of, value_of
from seqloom.data.reading.source_column import Wanted
from seqloom.data.reading.source_key import source_key
from seqloom.jobs.answering.answer import Question, are_texts, longest_fault
from seqloom.settings.words import nearest, show

DEEPEST = 100  # Python's own limits lie near 1,000, and fall where a caller is deep itself
DIGITS = 1000  # of a number; Python reads no more than 4,300
_TEXT, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")
SHOWN = 10  # keys in a message
SOURCE = "source"
WISHES = ("prefix", "must", "must_not", "longest", "id")
MISSPELT = 0.8
"""A key that is more like a wish's name than this is meant as one; idx, which tables have, is as like as this to id."""


class JsonQuestions:
    """Reads lines, each for itself. note: what should be known of the first that is a row of a table."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.note: str | None = None

    def read(self, line: str) -> tuple[Question | str, Any]:
        """The question, or why there is none; and the line's id."""
        try:
            fields = parsed(line)
        except ValueError as error:
            return f"not JSON ({error}); mend the line", None
        if not isinstance(fields, dict):
            return f'should be a table such as {{"source": "…"}}, but is {show(fields)}', None
        asked = self._asked(fields)
        fault = asked if isinstance(asked, str) else next(_faults(asked), None)
        name = None if self.wanted.column == "id" else fields.get("id")
        if fault is not None:
            return fault, name if _characters(name) else None
        assert not isinstance(asked, str)
        return _question(asked), name

    def asks(self, line: str) -> bool:
        """Whether a line that is read as text is a question in JSON."""
        if not line.lstrip().startswith("{"):
            return False
        try:
            fields = parsed(line)
        except ValueError:
            return False
        return isinstance(fields, dict) and self._key(_table(fields, None)) is not None

    def _key(self, table: dict[str, Any]) -> str | None:
        names = names_of(table)
        key = source_key(self.wanted, names)
        # whatever a model learnt from, a source may be called that
        return SOURCE if key is None and self.wanted.column is None and SOURCE in names else key

    def _asked(self, fields: dict[str, Any]) -> dict[str, Any] | str:
        """The source and the wishes, or what is wrong with the keys."""
        column = self.wanted.column
        table = _table(fields, column)
        key = self._key(table)
        top = None if key is None else key if key in table else key.partition(".")[0]
        others = [name for name in table if name != top]
        for name in others:
            if near := _misspelt(name, WISHES if key else (SOURCE, *WISHES)):
                return f"unknown key {name!r}; did you mean {near!r}?"
        if key is None and column is not None:
            near = nearest(column, names_of(table))
            return f"no key {column!r}; " + (f"did you mean {near!r}?" if near else f"there are {_listed(others)}")
        if key is None and others:
            return f"which key is the source? There are {_listed(others)}; say it with --column NAME"
        if key is not None and others and self.note is None:
            self.note = f"the source is {key!r}; other keys are not read: {_listed(others)}"
        wishes = {name: value for name, value in fields.items() if name not in table}
        return wishes if key is None else {**wishes, SOURCE: value_of(table, key)}


def _table(fields: dict[str, Any], column: str | None) -> dict[str, Any]:
    """Without wishes, unless one of them is named as the column that is asked."""
    return {name: value for name, value in fields.items() if name not in WISHES or name == column}


def _listed(names: list[str]) -> str:
    """As Python writes them, as a key may hold anything; of many the first."""
    more = [f"{len(names) - SHOWN:,} more"] if len(names) > SHOWN else []
    return ", ".join([*map(show, names[:SHOWN]), *more]) or "none"


def _misspelt(name: str, words: tuple[str, ...]) -> str | None:
    near = nearest(name, words)
    return near if near and SequenceMatcher(None, name.lower(), near).ratio() > MISSPELT else None


def parsed(line: str) -> Any:
    """JSON that anybody may have sent. A ValueError says what is no JSON, or more of it than anybody means."""
    if _depth(line) > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    return _JSON.decode(line)


def _depth(line: str) -> int:
    """How deep its brackets nest at most; those within texts do not count."""
    if line.count("[") + line.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", line)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _whole_number(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{show(digits)} is too large a number")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON's")


_JSON = json.JSONDecoder(parse_int=_whole_number, parse_float=_fraction, parse_constant=_no_constant)


def _question(fields: dict[str, Any]) -> Question:
    source = fields["source"]
    return Question(
        source if isinstance(source, str) else tuple(source),
        fields.get("prefix") or "",
        tuple(fields.get("must") or ()),
        tuple(fields.get("must_not") or ()),
        fields.get("longest"),
    )


def _faults(fields: dict[str, Any]) -> Iterator[str]:
    source, longest = fields.get("source"), fields.get("longest")
    if not isinstance(source, str) and not are_texts(source):
        yield f"the source should be text, but is {_shown(source)}"
    if not isinstance(fields.get("prefix"), str | None):
        yield f"prefix should be text, but is {_shown(fields['prefix'])}"
    if not _characters(fields):
        yield "half a surrogate pair is no character; remove it"
    for name in ("must", "must_not"):
        if fields.get(name) is not None and not are_texts(fields[name]):
            yield f"{name} should be a list of texts, but is {_shown(fields[name])}"
    if wrong := longest_fault(longest):
        yield wrong


def _characters(fields: Any) -> bool:
    """JSON can spell halves of surrogate pairs, which no text can hold."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    return "missing" if value is None else show(value)
