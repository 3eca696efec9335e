"""Which word of the source each word of an answer was written from."""
# T written tokens  S source positions  W words of the source  U words of the answer

from collections.abc import Sequence

import torch
from torch import Tensor

from seqloom.text import Vocabulary


def word_pairs(
    attention_TS: Tensor, text: str, tokens: Sequence[int], source: Vocabulary, target: Vocabulary
) -> tuple[tuple[int, int], ...]:
    """For each word of the answer, where it looked most: (word of the source, word of the answer).

    What the pieces of a word looked at is added up. Marks and spaces are looked at too, but are no words.
    """
    read_S = torch.tensor(source_words(text, source))[: attention_TS.shape[1] - 1]
    wrote_T = torch.tensor(target.word_of(tokens), dtype=torch.int64)
    if not (read_S >= 0).any() or not (wrote_T >= 0).any():
        return ()
    in_words_TS = attention_TS[: len(wrote_T), : len(read_S)]
    by_word_TW = _summed(in_words_TS, read_S)
    by_word_UW = _summed(by_word_TW.T, wrote_T).T
    return tuple((int(best), word) for word, best in enumerate(by_word_UW.argmax(-1)))


def source_words(text: str, source: Vocabulary) -> list[int]:
    """For each id of an encoded text the number of its word, where white space parts words; -1: in none."""
    normal, places = source.places(text)
    word_of, word = [-1] * len(normal), -1
    for place, sign in enumerate(normal):
        if not sign.isspace():
            word += place == 0 or normal[place - 1].isspace()
            word_of[place] = word
    return [max(word_of[first:last], default=-1) for first, last in places]


def _summed(weights: Tensor, group_S: Tensor) -> Tensor:
    """Columns of the same group added up; those of group -1 are left out."""
    inside = group_S >= 0
    sums = weights.new_zeros(weights.shape[0], int(group_S.max()) + 1)
    return sums.index_add_(1, group_S[inside], weights[:, inside])
