"""What is asked of a model, and what it says."""
# T written tokens  S source positions

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from torch import Tensor

from seqloom.data.readings import Floats
from seqloom.settings import UserError
from seqloom.settings.words import show, whole
from seqloom.text.surrogates import surrogate_fault


@dataclass(frozen=True)
class Question:
    """A text to answer, with wishes for the answer. source: words that are split already, if it is to be tagged; or a
    series of readings, values_TC."""

    source: str | Sequence[str] | Floats = field(hash=False)
    prefix: str = ""
    """The answer begins with it."""
    must: tuple[str, ...] = ()
    """Phrases that the answer holds."""
    must_not: tuple[str, ...] = ()
    longest: int | None = None
    """Tokens of the answer at most; None: as the settings say."""

    def __post_init__(self) -> None:
        if not isinstance(self.prefix, str):
            raise UserError(
                f"prefix should be text, but is {show(self.prefix)}; for each answer its own: "
                'ask seqloom.Question("…", prefix="…")'
            )
        for name, phrases in ("must", self.must), ("must_not", self.must_not):
            if not are_texts(phrases):
                raise UserError(f"{name} should be a list of texts, but is {show(phrases)}")

    def text_fault(self) -> str | None:
        """What is wrong with the characters of its texts."""
        source = (self.source,) if isinstance(self.source, str) else self.source
        source = () if isinstance(source, np.ndarray) else source
        texts = (*source, self.prefix, *self.must, *self.must_not)
        return next((wrong for wrong in map(text_fault, texts) if wrong), None)


class TextError(UserError):
    """What is wrong with one of several texts. number: which, from 1."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"text {number}: {why}")
        self.number, self.why = number, why


def are_texts(value: object) -> bool:
    """A list of them; to Python a text is one of letters, which nobody means."""
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def text_fault(text: str) -> str | None:
    """What no text holds, wherever it comes from: files that hold it are refused too."""
    if "\0" in text:
        return f"a NUL byte at column {text.index(chr(0)) + 1}; remove it"
    return surrogate_fault(text)


def longest_fault(longest: object) -> str | None:
    """What is wrong with a wish for the longest answer, which may come from JSON or from Python."""
    if longest is None or whole(longest, 1):
        return None
    return f"longest should be a number of tokens from 1 on, but is {show(longest)}"


@dataclass(frozen=True)
class Piece:
    """A part of an answer as people can see it (▁ is a space), or a tag; and how likely it was there."""

    text: str
    log_prob: float


@dataclass(frozen=True)
class Scored:
    """What a model says of a text: the sum over all pieces, the end mark included where there is one. Of a chain of
    tags what it says of all together; each piece then has its own, whatever the others are."""

    log_prob: float
    pieces: tuple[Piece, ...]

    @property
    def perplexity(self) -> float:
        return math.exp(min(-self.log_prob / max(len(self.pieces), 1), 700.0))


@dataclass(frozen=True)
class Answer:
    """str(answer) is its text; tags have a space between them."""

    text: str
    score: float = 0.0
    """What answers are ranked by: the log_prob, with penalties for length and coverage where it was searched for; of
    labels the probability."""
    log_prob: float = 0.0
    pieces: tuple[Piece, ...] = ()
    tokens: tuple[int, ...] = ()
    ended: bool = True
    """False: it was cut, as it got too long."""
    cut: int = 0
    """Tokens of the input that were left out, as the model's positions end before."""
    unmet: tuple[str, ...] = ()
    """Phrases that it had to hold and does not, as no such answer was found; or must not hold and does, which only an
    unknown word brings in that is replaced."""
    alignment: tuple[tuple[int, int], ...] | None = None
    """On request: pairs of a word's number in the source and in the answer, where the model looked most."""
    attention_TS: Tensor | None = field(default=None, repr=False, compare=False)
    """On request: one row a token (the end mark is the last), over the source's tokens."""

    def __str__(self) -> str:
        return self.text

    @property
    def probability(self) -> float:
        return math.exp(self.log_prob)


Wanted = Literal["text", "score", "pieces"]
"""What is read of written answers: the text alone, its score too, each piece's. What is not may be left out, which is
faster: pieces are empty then, scores NaN."""

EMPTY = Answer("")
"""What is said to a text without a word. By definition, whatever the model thinks: so it is certain."""
CERTAIN = Scored(0.0, ())
"""Its score."""


def settled(source: str, target: str | Answer | None) -> bool:
    """Whether it is the empty answer to a text without a word."""
    if isinstance(target, Answer):
        target = None if target.tokens or not target.ended else target.text
    return target == "" and not source.strip()
