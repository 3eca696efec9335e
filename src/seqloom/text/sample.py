"""A sample of bounded size from any number of texts, the same every time."""

from collections.abc import Iterable

CHARACTERS = 50_000_000  # some hundred thousand pages; more text hardly changes which pieces are frequent


def take_sample(texts: Iterable[str], most: int = CHARACTERS) -> list[str]:
    """All texts if they have at most `most` characters together; else every second, every fourth … text."""
    kept: list[str] = []
    size, stride = 0, 1
    for number, text in enumerate(texts):
        if number % stride:
            continue
        kept.append(text)
        size += len(text)
        while size > most and len(kept) > 1:
            kept = kept[::2]
            stride *= 2
            size = sum(map(len, kept))
    return kept
