"""Two text files whose lines belong together."""

from collections.abc import Iterator

from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.settings import Corpus
from seqloom.settings.words import counted


def read_aligned(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    first, second = corpus.files
    if len(FIELDS[shape]) != 2:
        raise DataError(
            f"{first}, {second}: two aligned files, but this task reads texts alone; name each in a corpus of its own"
        )
    with Lines(first) as left, Lines(second) as right:
        consumed = 0
        while True:
            start = left.count + 1
            columns = (left.take(ROWS), right.take(ROWS))
            if len(columns[0]) != len(columns[1]):
                raise _longer(left, right)
            if not columns[0]:
                return
            before, consumed = consumed, left.consumed + right.consumed
            yield Rows((left.name, right.name), range(start, left.count + 1), columns, consumed - before)


def _longer(left: Lines, right: Lines) -> DataError:
    for side in (left, right):
        while side.take(ROWS):
            pass
    long, short = (left, right) if left.count > right.count else (right, left)
    return DataError(
        f"{short.name}:{short.count + 1}: no such line: {short.name} has "
        f"{counted(short.count, 'line')}, but {long.name} has {long.count:,}; "
        "the lines of two files must belong together"
    )
