"""How many steps are written in one call: as many as take little time, so that others are heard in between."""

import time
from weakref import WeakKeyDictionary

from seqloom.generation.contract import Scorer

STEPS = 32  # at the most in one call, and
FIRST = 4  # in the first one, where nobody knows how long they take,
TURN = 0.05  # seconds, as far as the last one tells;
LONG = 0.2  # where nobody else is waiting: each call lays what is remembered anew
ALONE = 8  # rows: for so few, what takes as long as a step is to ask for some

_known: WeakKeyDictionary[Scorer, tuple[int, float]] = WeakKeyDictionary()
"""Rows, and seconds of each step, when few of them were last written."""


class Pace:
    def __init__(self, runner: Scorer | None) -> None:
        self._runner, self.turn = runner, TURN
        self._some = 0  # steps of the next call; 0: nobody knows yet
        self._began, self._rows = 0.0, 0

    def begin(self, rows: int) -> int:
        """A call begins: its steps. While nobody knows how long these take: as many as others had, of which there were
        not fewer."""
        self._began, self._rows = time.monotonic(), rows
        if self._some:
            return self._some
        known, each = (0, 0.0) if self._runner is None else _known.get(self._runner, (0, 0.0))
        return self._in_a_turn(each) if rows <= known else FIRST

    def end(self, steps: int) -> None:
        """It took so many."""
        each = max(time.monotonic() - self._began, 1e-6) / steps
        self._some = self._in_a_turn(each)
        if self._runner is not None and self._rows <= ALONE:
            _known[self._runner] = self._rows, each

    def joined(self, before: int, now: int) -> None:
        """More rows take longer, and nobody is to wait for it."""
        known = self._some > 0 and before > 0
        self._some = max(1, self._some * before // now) if known else 0

    def _in_a_turn(self, each: float) -> int:
        """Steps that take so many seconds each."""
        return max(1, min(STEPS, int(self.turn / each)))
