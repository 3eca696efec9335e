"""BPE dropout: now and then a merge is left out, so that a model sees a word cut in many ways.

Provilkov et al. 2020, algorithm 1. tokenizers has it too, but draws from a source that cannot be seeded; here a text's
pieces are a function of the vocabulary, the text and the seed, so that a run can be continued exactly.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

MOST = 100_000  # words; the memo then begins anew

Merges = Mapping[tuple[int, int], tuple[int, int]]  # two neighbours → rank, the piece that they become


@dataclass(frozen=True, slots=True)
class Route:
    """A word's way from single characters to its pieces, without dropout."""

    start: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]  # at which place, which new piece
    pieces: tuple[int, ...]


class Dropout:
    """Cuts words with dropout. `split` gives the single symbols of a text's parts that never merge with each other."""

    def __init__(self, merges: Merges, probability: float, split: Callable[[str], Iterable[list[int]]]) -> None:
        self.merges = merges
        self.probability = probability
        self.split = split
        self.routes: dict[str, list[Route]] = {}

    def encode(self, words: Iterable[str], seed: int) -> list[int]:
        """The pieces of a text's words."""
        # random() of an integer seed is the same in every version of Python
        draw = Random(seed).random
        ids: list[int] = []
        for word in words:
            for route in self.routes.get(word) or self._remember(word):
                ids += self._cut(route, draw)
        return ids

    def _remember(self, word: str) -> list[Route]:
        if len(self.routes) >= MOST:
            self.routes = {}
        routes = [self._route(symbols) for symbols in self.split(word)]
        self.routes[word] = routes
        return routes

    def _route(self, symbols: list[int]) -> Route:
        ids, steps = list(symbols), []
        while possible := self._possible(ids):
            _, place, piece = possible[0]
            ids[place : place + 2] = [piece]
            steps.append((place, piece))
        return Route(tuple(symbols), tuple(steps), tuple(ids))

    def _possible(self, ids: list[int]) -> list[tuple[int, int, int]]:
        """Rank, place and new piece of every merge, the best first."""
        get = self.merges.get
        found = ((place, get(pair)) for place, pair in enumerate(pairwise(ids)))
        return sorted((merge[0], place, merge[1]) for place, merge in found if merge is not None)

    def _cut(self, route: Route, draw: Callable[[], float]) -> Iterable[int]:
        """Of all merges that are possible at a step, the best that is not dropped; none left: done.

        Until the first drop the word goes its usual way, which needs no search.
        """
        for number in range(len(route.steps)):
            if draw() < self.probability:
                return self._leave(route, number, draw)
        return route.pieces

    def _leave(self, route: Route, number: int, draw: Callable[[], float]) -> list[int]:
        """The word's pieces when its best merge is dropped at this step."""
        ids = list(route.start)
        for place, piece in route.steps[:number]:
            ids[place : place + 2] = [piece]
        possible = self._possible(ids)[1:]
        while possible:
            for _, place, piece in possible:
                if draw() >= self.probability:
                    ids[place : place + 2] = [piece]
                    break
            else:
                break
            possible = self._possible(ids)
        return ids
