"""What whoever looks should know of an input and its answer: what the model does not know, and what was left out."""

from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.writing import Prepared
from seqloom.settings.words import show
from seqloom.text import UNKNOWN, Vocabulary

NAMED = 5  # unknown words that are named


def unread(asked: Prepared, vocabulary: object) -> tuple[str, ...]:
    """Words, or letters, that the vocabulary does not have; how much of a long input is left out."""
    if not isinstance(vocabulary, Vocabulary) or asked.item is None:
        return ()
    long = f"{asked.cut} tokens of the input are left out: the model does not read so many"
    return (*unread_words(asked, vocabulary), *([long] if asked.cut else []))


def unread_words(asked: Prepared, vocabulary: object) -> tuple[str, ...]:
    """The first alone. Most inputs are known as soon as their tokens are looked through."""
    if not isinstance(vocabulary, Vocabulary) or (asked.item is not None and UNKNOWN not in asked.item.source):
        return ()
    given = asked.question.source
    strange = unknown(given if isinstance(given, str) else " ".join(str(word) for word in given), vocabulary)
    if not strange:
        return ()
    named = ", ".join(show(one) for one in strange[:NAMED])
    more = f" and {len(strange) - NAMED} more" if len(strange) > NAMED else ""
    return (f"the vocabulary has no {named}{more}: the model reads <unk> instead",)


def unknown(text: str, vocabulary: Vocabulary) -> list[str]:
    """Each once: words of a vocabulary of words, letters of any other."""
    (ids,) = vocabulary.encode([text])
    if UNKNOWN not in ids:
        return []
    normal, places = vocabulary.places(text)
    found = (normal[first:last].strip() for (first, last), id in zip(places, ids, strict=True) if id == UNKNOWN)
    return list(dict.fromkeys(part for part in found if part))


def cut_short(answer: Answer, asked: Prepared) -> tuple[str, ...]:
    """Of an answer that did not end by itself."""
    if answer.ended or asked.item is None or len(answer.tokens) < asked.item.longest:
        return ()
    return (f"the answer is cut at {asked.item.longest} tokens (generation.longest)",)
