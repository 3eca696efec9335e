"""Unknown words of an answer, replaced by the words of the source that the model looked at."""
# T tokens written  S source positions

from collections.abc import Mapping, Sequence

from torch import Tensor

from seqloom.text import UNKNOWN, Vocabulary, Words
from seqloom.text.display import LOST


def replace_unknown(
    target_pieces: Sequence[str],
    unknown_positions: Sequence[int],
    attention_TS: Tensor,
    source_words: Sequence[str],
    word_of_source_position: Sequence[int],
    lexicon: Mapping[str, str] | None = None,
) -> list[str]:
    """The pieces, with each unknown one replaced by the word that it looked at most (Luong et al. 2015).

    A word's attention is that of all its positions together. The lexicon translates it; a word that is not in the
    lexicon is copied (Jean et al. 2015). A position of word -1, or behind the last one, belongs to no word. Where
    nothing was looked at, the piece stays as it is.
    """
    pieces = list(target_pieces)
    of_S = list(word_of_source_position)[: attention_TS.shape[1]]
    for position in unknown_positions:
        looked = [0.0] * len(source_words)
        for word, weight in zip(of_S, attention_TS[position, : len(of_S)].tolist(), strict=True):
            if word >= 0:
                looked[word] += weight
        most = max(looked, default=0.0)
        if most > 0:
            word_there = source_words[looked.index(most)]
            pieces[position] = (lexicon or {}).get(word_there, word_there)
    return pieces


def decode_replacing(
    target: Vocabulary,
    tokens: Sequence[int],
    attention_TS: Tensor,
    source: Vocabulary,
    text: str,
    lexicon: Mapping[str, str] | None = None,
) -> str:
    """The text of the tokens, with what was unknown replaced from the source text.

    attention_TS: one row a token, over the ids of the text in their order; what is behind them, as the end mark, is
    not looked at. Where a word vocabulary writes, whole words are copied. Where pieces or characters are written, an
    unknown token is a part of a word: then parts are copied, and if the source has unknown ones, only those.
    """
    unknown = [position for position, token in enumerate(tokens) if token == UNKNOWN]
    if not unknown:
        return target.decode(tokens)
    words, word_of = _words(source, text, target) if isinstance(target.settings, Words) else _parts(source, text)
    pieces = replace_unknown([LOST] * len(tokens), unknown, attention_TS, words, word_of, lexicon)
    return target.decode(tokens, [pieces[position] for position in unknown])


def _words(source: Vocabulary, text: str, target: Vocabulary) -> tuple[list[str], list[int]]:
    """The text's words, as the target splits them, and the word that each position has most of."""
    normal, places = source.places(text)
    words = target.words(normal)

    def word_of(first: int, last: int) -> int:
        shared = [min(last, end) - max(first, start) for start, end in words]
        return shared.index(max(shared)) if max(shared, default=0) > 0 else -1

    return [normal[start:end] for start, end in words], [word_of(first, last) for first, last in places]


def _parts(source: Vocabulary, text: str) -> tuple[list[str], list[int]]:
    """What stands at each position, and the positions that can be copied."""
    normal, places = source.places(text)
    (ids,) = source.encode([text])
    lost = UNKNOWN in ids
    parts = [normal[first:last].strip() for first, last in places]
    can = [bool(part) and (id == UNKNOWN or not lost) for part, id in zip(parts, ids, strict=True)]
    return parts, [place if copied else -1 for place, copied in enumerate(can)]
