"""Phrases that an answer must not hold, as text: tokens forbid one way to spell a word, and there are many."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.evaluation.scripts import HAN, KANA, OTHERS
from seqloom.text import BPE, Unigram, Vocabulary, Words

_LETTER = rf"[^\W{HAN}{KANA}{OTHERS}]"
"""A letter or digit of what is written with spaces."""


@dataclass(frozen=True)
class ForbiddenText:
    """Finds phrases as whole words, where pieces or words are written; elsewhere wherever they stand."""

    phrases: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, phrases: Sequence[str], target: Vocabulary) -> "ForbiddenText":
        worded = isinstance(target.settings, BPE | Unigram | Words)
        texts = [text.strip() if worded else text for text in phrases]
        return cls(tuple(texts), tuple(_pattern(text, worded) for text in texts))

    def held(self, text: str) -> tuple[str, ...]:
        """Those that a text holds."""
        pairs = zip(self.phrases, self.patterns, strict=True)
        return tuple(phrase for phrase, pattern in pairs if pattern.search(text))


def _pattern(text: str, worded: bool) -> re.Pattern[str]:
    before = rf"(?<!{_LETTER})" if worded and re.match(_LETTER, text) else ""
    after = rf"(?!{_LETTER})" if worded and re.match(_LETTER, text[-1:]) else ""
    return re.compile(before + re.escape(text) + after)
