"""Half a surrogate pair is no character and has no UTF-8, but a Python string can hold it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from seqloom.settings import UserError


def surrogate_fault(text: str) -> str | None:
    """Where the text has one, in words."""
    if text.isascii():
        return None  # known without looking
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"{text[error.start]!r} in {text[max(0, error.start - 20) : error.start + 20]!r}"
        return f"half a surrogate pair, {half}, is no character; remove it"
    return None


def whole(text: str, number: int) -> str:
    """The text, if it has none."""
    if wrong := surrogate_fault(text):
        raise UserError(f"text {number}: {wrong}")
    return text


@contextmanager
def naming_surrogates(texts: Sequence[str]) -> Iterator[None]:
    """Looks for the text with one only when something has failed."""
    try:
        yield
    except (UnicodeEncodeError, TypeError):
        for number, text in enumerate(texts, 1):
            whole(text, number)
        raise
