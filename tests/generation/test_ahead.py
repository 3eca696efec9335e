"""Items come sorted within a window, and no more than that are read."""

from collections.abc import Iterator

from seqloom.generation.ahead import Ahead
from seqloom.generation.contract import Item

LENGTHS = [3, 1, 2, 5, 4, 5, 0]


def test_the_longest_of_a_window_comes_first() -> None:
    read: list[int] = []

    def items() -> Iterator[Item]:
        for number, length in enumerate(LENGTHS):
            read.append(number)
            yield Item([7] * length, number, 9)

    ahead = Ahead(items(), 3)
    assert read == []
    assert [item.number for item in ahead.take(2)] == [0, 2]
    assert read == [0, 1, 2]
    assert [item.number for item in ahead.take(3)] == [1, 3, 5]
    assert len(read) == 6
    assert [item.number for item in ahead.take(9)] == [4, 6]
    assert ahead.take(1) == []
