"""What a node is, in numbers: a list of all, those that are not 0, or the words of a text."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from seqloom.data.reading.faults import Broken

Sparse = dict[int, float]
_WORD = re.compile(r"\w+")
MOST = 10_000_000
"""Features; a larger number of one is a slip."""


def dense_or_sparse(value: Any) -> Sparse | list[float] | Broken:
    """JSON: a list of numbers is dense, an object {"number": value} sparse. Text: numbers with commas between them are
    dense; with spaces, the numbers of the features that are 1, or number:value.
    """
    try:
        match value:
            case list():
                return [_number(one) for one in value]
            case dict():
                return {_index(key): _number(one) for key, one in value.items()}
            case str() if "," in value or ";" in value:
                return [_number(one) for one in re.split(r"[,;]", value)]
            case str():
                return dict(map(_pair, value.split()))
            case None:
                return {}
            case _:
                raise ValueError(f"features should be numbers, but are {value!r}")
    except (ValueError, TypeError) as error:
        return Broken("features that are no numbers", str(error))


def columns(values: Iterable[Any]) -> list[float] | Broken:
    """Dense features, each in a column of its own."""
    try:
        return [_number(value) for value in values]
    except (ValueError, TypeError) as error:
        return Broken("features that are no numbers", str(error))


def _pair(text: str) -> tuple[int, float]:
    index, colon, value = text.partition(":")
    return _index(index), _number(value) if colon else 1.0


def _index(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"a feature's number should be 0, 1, 2, …, but is {text!r}")
    if len(text.lstrip("0")) > len(str(MOST)) or int(text) >= MOST:
        raise ValueError(f"a feature's number should be below {MOST:,}, but is {text}")
    return int(text)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (ValueError, TypeError):
        raise ValueError(f"a feature should be a number, but is {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"a feature should be a number, but is {value}")
    return number


def repeated_words(texts: Sequence[str], least: int = 2) -> tuple[str, ...]:
    """In small letters; those of fewer than `least` texts tell nothing of another."""
    seen = Counter(word for text in texts for word in set(_words(text)))
    return tuple(sorted(word for word, count in seen.items() if count >= min(least, len(texts))))


def counted_words(texts: Sequence[str], words: Sequence[str]) -> list[Sparse]:
    """How often each of these words stands in each text."""
    numbers = {word: number for number, word in enumerate(words)}
    counts = [Counter(numbers[word] for word in _words(text) if word in numbers) for text in texts]
    return [{number: float(count) for number, count in one.items()} for one in counts]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
