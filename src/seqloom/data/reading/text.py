"""Plain text: a line is an example."""

from collections.abc import Iterator

from seqloom.data.reading.block import ROWS, Rows
from seqloom.data.reading.lines import Lines


def read_text(name: str) -> Iterator[Rows]:
    with Lines(name) as lines:
        consumed = 0
        while texts := lines.take(ROWS):
            before, consumed = consumed, lines.consumed
            numbers = range(lines.count - len(texts) + 1, lines.count + 1)
            yield Rows((lines.name,), numbers, (texts,), consumed - before, blank=True)
