"""Each layer has a plain path, which is the equation, and a fast one, chosen by device and shape.

Nobody who calls a layer chooses between them. `only_plain` is for those who compare the two.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_plain = False


@contextmanager
def only_plain() -> Iterator[None]:
    """Run the equations as they are written, for the laws and for looking inside."""
    global _plain
    before, _plain = _plain, True
    try:
        yield
    finally:
        _plain = before


def fast() -> bool:
    return not _plain
