"""The ids of texts, each word cut only once.

No piece reaches over a space into the next word, so a text's ids are those of its words in a row. Texts repeat their
words: looking them up is several times faster than cutting them again.
"""

from collections.abc import Sequence
from itertools import chain, repeat
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

MOST = 200_000  # words; the memo then begins anew

Values = NDArray[np.int32]
Lengths = NDArray[np.int64]


def words_of(text: str) -> list[str]:
    """A text's words, or the whole text as one where there is other white space than single spaces between words."""
    words = text.split()
    return words if " ".join(words) == text and words else [text]


class Memo:
    """Words cut so far."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.lock = Lock()
        self._clear()

    def _clear(self) -> None:
        self.rows: dict[str, int] = {}
        self.values: Values = np.empty(0, np.int32)
        self.lengths: Lengths = np.empty(0, np.int64)
        self.starts: Lengths = np.empty(0, np.int64)

    def encode(self, texts: Sequence[str]) -> tuple[Values, Lengths]:
        """All ids in a row, and how many each text has."""
        if not texts:
            return np.empty(0, np.int32), np.empty(0, np.int64)
        words = [words_of(text) for text in texts]
        flat = list(chain.from_iterable(words))
        with self.lock:
            if len(self.rows) > MOST:
                self._clear()
            rows = np.fromiter(map(self.rows.get, flat, repeat(-1)), np.int64, len(flat))
            if len(new := np.flatnonzero(rows < 0)):
                strange = [flat[place] for place in new.tolist()]
                self._learn(list(dict.fromkeys(strange)))
                rows[new] = [self.rows[word] for word in strange]
            lengths = self.lengths[rows]
            ends = np.cumsum(lengths)
            at = np.repeat(self.starts[rows] - ends + lengths, lengths) + np.arange(ends[-1])
            values = self.values[at]
        firsts = np.cumsum([0, *map(len, words)])[:-1]
        return values, np.add.reduceat(lengths, firsts)

    def _learn(self, words: list[str]) -> None:
        new = [code.ids for code in self.tokenizer.encode_batch_fast(words, add_special_tokens=False)]
        self.rows.update(zip(words, range(len(self.rows), len(self.rows) + len(words)), strict=True))
        self.values = np.concatenate([self.values, np.fromiter(chain.from_iterable(new), np.int32)])
        self.lengths = np.concatenate([self.lengths, np.fromiter(map(len, new), np.int64, len(new))])
        self.starts = np.cumsum(self.lengths) - self.lengths
