"""Tokens that are changed before a model reads them."""

from collections.abc import Sequence

from seqloom.inspect.changes import TokenChange
from seqloom.settings import UserError
from seqloom.text import Vocabulary


def replace_tokens(
    ids: Sequence[int], changes: Sequence[TokenChange], side: str, vocabulary: Vocabulary, reverse: bool = False
) -> tuple[int, ...]:
    """Tokens of one side, some of them changed. A UserError: there is no such place, or no such piece.

    reverse: they are read from the end, and places are counted as they are read.
    """
    found = list(ids)
    for change in changes:
        if change.side != side:
            continue
        if change.place >= len(found):
            raise UserError(f"token: the {side} has {len(found)} tokens, 0 to {len(found) - 1}, and no {change.place}")
        place = len(found) - 1 - change.place if reverse else change.place
        found[place] = piece_id(change.text, vocabulary)
    return tuple(found)


def piece_id(text: str, vocabulary: Vocabulary) -> int:
    """Of a piece as it is shown, or of a text that is one piece."""
    shown = vocabulary.pieces(range(len(vocabulary)))
    if text in shown:
        return shown.index(text)
    (ids,) = vocabulary.encode([text])
    if len(ids) != 1:
        cut = " ".join(vocabulary.pieces(ids)) or "nothing"
        raise UserError(f"token: {text!r} is no single piece of the vocabulary: it is cut into {cut}")
    return ids[0]
