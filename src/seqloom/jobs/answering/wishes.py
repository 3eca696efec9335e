"""What a question wishes of its answer, as tokens."""

from collections.abc import Iterable

from seqloom.jobs.answering.answer import Question
from seqloom.settings import UserError
from seqloom.text import BPE, UNKNOWN, Unigram, Vocabulary, Words

Phrases = tuple[tuple[int, ...], ...]


def prefix_of(question: Question, target: Vocabulary) -> tuple[int, ...]:
    """A space at its end is the next word's, where pieces or words begin with theirs."""
    text = question.prefix.rstrip(" ") if _spaced(target) else question.prefix
    return _ids(text, target, "prefix") if text else ()


def must_of(question: Question, target: Vocabulary) -> Phrases:
    return tuple(_ids(phrase, target, "must") for phrase in question.must)


def must_not_of(question: Question, target: Vocabulary) -> Phrases:
    """What the vocabulary cannot write need not be forbidden."""
    phrases = (tuple(target.encode([_told(phrase, target, "must_not")])[0]) for phrase in question.must_not)
    return tuple(phrase for phrase in phrases if phrase and UNKNOWN not in phrase)


def _ids(text: str, target: Vocabulary, wish: str) -> tuple[int, ...]:
    ids = tuple(target.encode([_told(text, target, wish)])[0])
    if not ids or UNKNOWN in ids:
        strange = _strange(text.split() if isinstance(target.settings, Words) else text, target)
        raise UserError(
            f"{wish} {text!r}: the model cannot write it, as its vocabulary has no {strange!r}; leave it out"
        )
    return ids


def _spaced(target: Vocabulary) -> bool:
    """Whether a space alone says nothing, as pieces or words begin with theirs."""
    return isinstance(target.settings, BPE | Unigram | Words)


def _told(text: str, target: Vocabulary, wish: str) -> str:
    if not (text.strip() if _spaced(target) else text):
        raise UserError(f"{wish} holds an empty phrase; leave it out")
    return text


def _strange(parts: Iterable[str], target: Vocabulary) -> str:
    """The first part, a word or a character, that is not known."""
    return next((part for part in parts if UNKNOWN in target.encode([part])[0]), "such piece")


def refuse_wishes(question: Question, instead: str) -> None:
    """Where no answer is written, but something is done instead."""
    if question.prefix or question.must or question.must_not or question.longest:
        raise UserError(f"prefix, must, must_not and longest are of answers that are written; {instead}")
