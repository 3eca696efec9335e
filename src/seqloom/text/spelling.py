"""Words with their letters: behind the id of each word its bytes, so that no word is wholly unknown."""

from collections.abc import Sequence
from functools import lru_cache

from seqloom.text.specials import UNKNOWN
from seqloom.text.vocabulary import Vocabulary

BYTES = 256
LONGEST = 32
"""Bytes of a word that are read; of a longer one, its beginning and its end."""


def spelled(vocabulary: Vocabulary, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The ids of words that are split already, and for each id the number of its word.

    A word is its id in the vocabulary, UNKNOWN if that has none, and its bytes in UTF-8: byte b is the id size + b.
    """
    ids, word_of = list[int](), list[int]()
    for number, (word, pieces) in enumerate(zip(words, vocabulary.encode(words), strict=True)):
        letters = [len(vocabulary) + byte for byte in _letters(word)]
        ids += [pieces[0] if len(pieces) == 1 else UNKNOWN, *letters]
        word_of += [number] * (1 + len(letters))
    return ids, word_of


@lru_cache(1 << 16)
def _letters(word: str) -> bytes:
    """As the word stands there: lower case or not tells much, whatever the vocabulary makes of it."""
    letters = word.encode(errors="replace")
    return letters if len(letters) <= LONGEST else letters[: LONGEST // 2] + letters[-LONGEST // 2 :]
