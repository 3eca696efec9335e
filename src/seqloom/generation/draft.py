"""The answers to one item, from its beginning until all are there."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from seqloom.generation.contract import Item, Written
from seqloom.generation.phrases import holds


@dataclass(frozen=True)
class Found:
    """An answer that has ended, or was cut; turned into lists only if it is handed out."""

    score: float
    tokens: np.ndarray
    log_probs: np.ndarray | None
    """None: nobody asked for them."""
    ended: bool
    attention: np.ndarray | None = None
    unmet: tuple[tuple[int, ...], ...] = ()

    def written(self) -> Written:
        attention = None if self.attention is None else torch.from_numpy(self.attention)
        log_probs = np.array([]) if self.log_probs is None else self.log_probs.astype(np.float64)
        return Written(
            tuple(self.tokens.tolist()),
            self.score,
            math.nan if self.log_probs is None else float(log_probs.sum()),
            tuple(log_probs.tolist()),
            self.ended,
            attention,
            self.unmet,
        )


@dataclass
class Draft:
    """parts: searches that are under way for it: one, or as many as samples are drawn."""

    item: Item
    parts: int
    found: list[Found] = field(default_factory=list)

    def add(self, found: Found, keep: int) -> None:
        """keep: the best so many are wanted; a few more are held, so that they are not sorted each time."""
        self.found.append(found)
        if len(self.found) > 4 * keep + 16:
            self.found = sorted(self.found, key=self._rank)[:keep]

    def answers(self, count: int, distinct: bool) -> list[Written]:
        """The best, best first. What was cut stands behind all that ended, as nobody knows how it would have gone on;
        where the item has it cut, among them.

        distinct: no text twice; of the same text the better one stays.
        """
        best = sorted(self.found, key=self._rank)
        if distinct:
            texts = dict[bytes, Found]()
            for one in best:
                texts.setdefault(one.tokens.tobytes(), one)
            best = list(texts.values())
        return [one.written() for one in best[:count]]

    def best(self) -> list[Found]:
        """The best so far, if there is any."""
        return sorted(self.found, key=self._rank)[:1]

    def _rank(self, found: Found) -> tuple[bool, float]:
        return bool(found.unmet) if self.item.cuts else not found.ended, -found.score

    def judged(self, found: Found) -> Found:
        """With the phrases that it lacks; what ended lacks none."""
        if found.ended or not self.item.must:
            return found
        tokens = tuple(found.tokens.tolist())
        return replace(found, unmet=tuple(phrase for phrase in self.item.must if not holds(tokens, phrase)))
