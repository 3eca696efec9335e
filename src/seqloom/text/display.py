"""Ids to text and to pieces that people can see."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, repeat

from tokenizers import normalizers

from seqloom.text.settings import BPE, Bytes, PieceSettings, Unigram, Words
from seqloom.text.specials import SPECIALS, UNKNOWN
from seqloom.text.tokenizer import build_normaliser, byte_alphabet, unescape

LOST = "⁇"
_BREAKS = {"\n": "↵", "\t": "⇥", "\r": "␍"}
_SEEN = str.maketrans({" ": "▁", **_BREAKS})
_CONTROL = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_IN_LINE = str.maketrans({chr(code): repr(chr(code))[1:-1] for code in _CONTROL} | _BREAKS)


def in_line(text: str) -> str:
    """With signs for what would break a row of a table or harm a terminal."""
    return text.translate(_IN_LINE)


class Display:
    """The text of each id, as bytes, as a byte-level piece may be a part of a character."""

    def __init__(self, settings: PieceSettings, pieces: Sequence[str]) -> None:
        self.settings = settings
        self.normaliser = normalizers.Sequence(build_normaliser(settings.normalise))
        self.joint = b" " if isinstance(settings, Words) else b""
        self.prefix = " " if isinstance(settings, BPE | Unigram) else ""
        bytewise = isinstance(settings, Bytes) or (isinstance(settings, BPE) and settings.bytes)
        byte = {character: number for number, character in enumerate(byte_alphabet())}
        own = pieces[len(SPECIALS) :]
        if bytewise:
            self.texts = [bytes(byte[character] for character in piece) for piece in own]
        else:
            self.texts = [(unescape(piece) if isinstance(settings, Words) else piece).encode() for piece in own]

    def text(self, ids: Iterable[int], unknown: Iterable[str] = ()) -> str:
        """unknown: what stands for the unknown ones, in their order; LOST for those behind."""
        said = chain(unknown, repeat(LOST))
        parts = [
            next(said).encode() if id == UNKNOWN else self.texts[id - len(SPECIALS)]
            for id in ids
            if id == UNKNOWN or id >= len(SPECIALS)
        ]
        return self.joint.join(parts).decode(errors="replace").removeprefix(self.prefix)

    def word_of(self, ids: Iterable[int]) -> list[int]:
        """For each id the number of its word in the text; -1: it stands in no word, as it is a mark or a space."""
        found, word, inside = list[int](), -1, False
        for id in ids:
            at = -1
            for sign in self._signs(id):
                if sign.isspace():
                    inside = False
                else:
                    word, inside = (word if inside else word + 1), True
                    at = word if at < 0 else at
            found.append(at)
        return found

    def _signs(self, id: int) -> list[bytes]:
        """Bytes; a word that others stand beside is one sign, with a space before it."""
        if id != UNKNOWN and id < len(SPECIALS):
            return []
        text = LOST.encode() if id == UNKNOWN else self.texts[id - len(SPECIALS)]
        return [self.joint, text] if self.joint else [text[place : place + 1] for place in range(len(text))]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        return [self._seen[id] for id in ids]

    @cached_property
    def _seen(self) -> list[str]:
        own = (text.decode(errors="backslashreplace").translate(_SEEN) for text in self.texts)
        return [*SPECIALS, *own]
