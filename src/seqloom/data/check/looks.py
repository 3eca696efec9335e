"""Oddities that a text shows by itself: letters that went wrong, control characters, spaces, scripts.

Every letter is looked up once in a table of what it may be a sign of; only texts with a sign are looked at closer.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data.check.cut_text import WHY, mark_of
from seqloom.data.check.tally import Kind

Signs = NDArray[np.uint16]

# What UTF-8's later bytes turn into when they are read as Latin-1 or as Windows' code page 1252.
_LATER = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MISREAD = re.compile(f"[ÂÃ][{_LATER}]|â€[{_LATER}]|(?:[ÐÑ][{_LATER}]){{2}}|ï»¿")
_MISREAD_KIND = Kind(
    "warning",
    "text that was probably decoded with the wrong encoding (Ã¤ for ä)",
    "decode the original again as UTF-8, or repair it, for example with ftfy",
)
_CUT = Kind("warning", "cut into pieces already (ma@@ les, or ▁ma les)", WHY)
_SPACES = Kind("note", "spaces at the begin or end", "strip them, or let the recipe's normalisation do it")

_LETTERS = {
    Kind(
        "warning",
        "replacement characters (U+FFFD): letters that were lost on the way",
        "convert the original again, or remove the examples",
    ): "\ufffd",
    Kind(
        "warning", "control characters or line breaks within a text", "remove them, unless they are meant"
    ): "\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029",
    Kind(
        "note", "invisible characters (zero width, byte order marks)", "remove them, unless they are meant"
    ): "\u200b\u2060\ufeff",
    Kind("note", "no-break spaces", "let the recipe's normalisation make them plain"): "\u00a0\u202f",
}
_SCRIPTS = {
    "Latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Devanagari": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
    "Chinese or Japanese": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff",
    "Korean": "\uac00-\ud7af",
}
_CLASSES: dict[Any, str] = {**_LETTERS, "misread": "ÂÃâÐÑï", **_SCRIPTS}
_SIGN = {name: np.uint16(1 << bit) for bit, name in enumerate(_CLASSES)}
_ANY_SCRIPT = np.bitwise_or.reduce([_SIGN[name] for name in _SCRIPTS])

_ENOUGH = 5
_SAMPLE = 2_000
_AT_ONCE = 1 << 20


def _table() -> Signs:
    """What each character of the basic plane is a sign of; the last entry stands for all beyond it."""
    table = np.zeros(1 << 16, np.uint16)
    for name, letters in _CLASSES.items():
        for first, last in re.findall("(.)(?:-(.))?", letters, re.DOTALL):
            table[ord(first) : ord(last or first) + 1] |= _SIGN[name]
    return table


_TABLE = _table()


def signs_of(texts: Sequence[str]) -> Signs:
    """All signs in each text, of which none is empty."""
    return np.concatenate([_signs(part) for part in _parts(texts)] or [np.empty(0, np.uint16)])


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Not too many letters at once, as each takes some bytes."""
    start = letters = 0
    for end, text in enumerate(texts):
        letters += len(text)
        if letters > _AT_ONCE:
            yield texts[start : end + 1]
            start, letters = end + 1, 0
    if start < len(texts):
        yield texts[start:]


def _signs(texts: Sequence[str]) -> Signs:
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    signs = np.zeros(len(texts), _TABLE.dtype)
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    # an empty text has no signs, and reduceat would give it its neighbour's
    held = lengths > 0
    if held.any():
        begins = (np.cumsum(lengths) - lengths)[held]
        signs[held] = np.bitwise_or.reduceat(_TABLE[np.minimum(codes, len(_TABLE) - 1)], begins)
    return signs


def odd_looks(texts: Sequence[str], signs: Signs) -> dict[Kind, list[int]]:
    """For each oddity, which of the texts show it."""
    found = {kind: _with(signs, _SIGN[kind]) for kind in _LETTERS}
    found[_MISREAD_KIND] = [number for number in _with(signs, _SIGN["misread"]) if _MISREAD.search(texts[number])]
    found[_CUT] = [number for number, text in enumerate(texts) if mark_of(text) is not None]
    found[_SPACES] = [number for number, text in enumerate(texts) if len(text.strip()) != len(text)]
    return {kind: at for kind, at in found.items() if at}


def _with(signs: Signs, sign: np.uint16) -> list[int]:
    return np.flatnonzero(signs & sign).tolist()


class Script:
    """The script that nearly all texts of a field are written in, and texts that have none of it."""

    def __init__(self) -> None:
        self._main: str | None = None
        self._known = False

    def strangers(self, texts: Sequence[str], signs: Signs) -> dict[Kind, list[int]]:
        if not self._known:
            self._main, self._known = _main_script(signs[:_SAMPLE]), True
        if self._main is None:
            return {}
        others = np.flatnonzero(((signs & _SIGN[self._main]) == 0) & ((signs & _ANY_SCRIPT) != 0)).tolist()
        at = [number for number in others if sum(map(str.isalpha, texts[number])) >= _ENOUGH]
        kind = Kind("warning", f"no {self._main} letter, where nearly all texts have them", "is it the right language?")
        return {kind: at} if at else {}


def _main_script(signs: Signs) -> str | None:
    counts = {name: np.count_nonzero(signs & _SIGN[name]) for name in _SCRIPTS}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= 0.9 * len(signs) else None
