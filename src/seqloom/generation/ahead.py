"""Items in the order in which they are best written: those of like length together."""

from collections.abc import Iterable
from itertools import islice

from seqloom.generation.contract import Item


class Ahead:
    """Reads so many items ahead and hands out the longest first; never holds more of them."""

    def __init__(self, items: Iterable[Item], window: int) -> None:
        self._items, self._window = iter(items), window
        self._ready: list[Item] = []  # the next one last

    def take(self, count: int) -> list[Item]:
        """Up to so many; fewer only behind the end."""
        taken: list[Item] = []
        while len(taken) < count:
            if not self._ready:
                read = islice(self._items, self._window)
                self._ready = sorted(read, key=lambda item: (-len(item.source), item.number))[::-1]
                if not self._ready:
                    break
            taken.append(self._ready.pop())
        return taken
