"""How far two sequences are apart, and how much they have in common.

A column of the table of dynamic programming is kept in whole numbers, a bit a row, so that a step of the sequence is a
few operations however long the other one is: Python's numbers have as many bits as are needed.
"""

from collections.abc import Hashable, Sequence


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that make the one the other (Levenshtein 1966).

    Myers 1999 in the form of Hyyrö 2003: bits say where a cell is one more, or one less, than the one beside it.
    """
    if not one:
        return len(other)
    places, every, last = _places(one), (1 << len(one)) - 1, 1 << (len(one) - 1)
    more_down, less_down, distance = every, 0, len(one)
    for item in other:
        same = places.get(item, 0)
        diagonal = (((same & more_down) + more_down) ^ more_down) | same | less_down  # where the diagonal costs nothing
        more_right = less_down | (every & ~(diagonal | more_down))
        less_right = diagonal & more_down
        distance += bool(more_right & last) - bool(less_right & last)
        more_right, less_right = more_right << 1 | 1, less_right << 1
        more_down = (less_right | ~(diagonal | more_right)) & every
        less_down = more_right & diagonal & every
    return distance


def common_length(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence (Hyyrö 2004): rows that grew have lost their bit."""
    places, every = _places(one), (1 << len(one)) - 1
    still = every
    for item in other:
        hit = still & places.get(item, 0)
        still = ((still + hit) | (still - hit)) & every
    return len(one) - still.bit_count()


def _places(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """Where each item stands, a bit a place."""
    places: dict[Hashable, int] = {}
    for at, item in enumerate(items):
        places[item] = places.get(item, 0) | 1 << at
    return places
