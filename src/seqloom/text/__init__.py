"""Text to ids and back; no torch.

from seqloom.text import BPE, Vocabulary

vocabulary = Vocabulary.train(BPE(size=1000), texts)
vocabulary.decode(vocabulary.encode(["a text"])[0])
"""

from seqloom.text.labels import Labels
from seqloom.text.settings import BPE, Bytes, Characters, Normalise, PieceSettings, TextSettings, Unigram, Words
from seqloom.text.specials import BEGIN, END, MASK, SEPARATOR, SPECIALS, UNKNOWN
from seqloom.text.vocabulary import Vocabulary

__all__ = [
    "BEGIN",
    "BPE",
    "END",
    "MASK",
    "SEPARATOR",
    "SPECIALS",
    "UNKNOWN",
    "Bytes",
    "Characters",
    "Labels",
    "Normalise",
    "PieceSettings",
    "TextSettings",
    "Unigram",
    "Vocabulary",
    "Words",
]
