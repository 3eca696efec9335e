"""Half a surrogate pair is no character and has no UTF-8, but a Python string can hold it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from seqloom.settings import UserError


def whole(text: str, number: int) -> str:
    """The text, if it has none."""
    if text.isascii():
        return text  # known without looking
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"{text[error.start]!r} in {text[max(0, error.start - 20) : error.start + 20]!r}"
        raise UserError(f"text {number}: half a surrogate pair, {half}, is no character; remove it") from None
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
