"""A piece of music: notes in beats, and how long a beat takes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

DRUMS = 128
"""The instrument of what MIDI's channel 10 plays; the others are its programs, 0 to 127."""
PITCHES = 128
BEAT = 0.5
"""Seconds, where nothing is said: 120 beats a minute, as in MIDI."""


@dataclass(frozen=True, order=True)
class Note:
    """From beat to beat (quarter notes). part: which track and channel plays it."""

    start: float
    end: float
    pitch: int
    velocity: int = 80
    program: int = 0
    part: int = 0


@dataclass(frozen=True)
class Piece:
    """tempos: from which beat on a beat takes how many seconds; the first is at beat 0."""

    notes: tuple[Note, ...]
    tempos: tuple[tuple[float, float], ...] = ((0.0, BEAT),)

    def seconds(self, beat: float) -> float:
        """When a beat comes, from the beginning."""
        number = max(0, bisect_right(self._beats, beat) - 1)
        return self._times[number] + (beat - self._beats[number]) * self.tempos[number][1]

    @property
    def end(self) -> float:
        """In beats."""
        return max((note.end for note in self.notes), default=0.0)

    @cached_property
    def _beats(self) -> list[float]:
        return [beat for beat, _ in self.tempos]

    @cached_property
    def _times(self) -> list[float]:
        times = [0.0]
        for (before, each), (beat, _) in zip(self.tempos, self.tempos[1:], strict=False):
            times.append(times[-1] + (beat - before) * each)
        return times


def one_by_one(notes: Sequence[Note]) -> list[Note]:
    """No two of a key at once, as on a piano: a note ends where the next of its pitch and instrument begins.

    Of those that begin together, one stays: as loud as the loudest, as long as the longest.
    """
    found: dict[tuple[int, int], list[Note]] = {}
    for note in sorted(notes):
        same = found.setdefault((note.program, note.pitch), [])
        if same and same[-1].start == note.start:
            longest, loudest = max(same[-1].end, note.end), max(same[-1].velocity, note.velocity)
            same[-1] = replace(same[-1], end=longest, velocity=loudest)
            continue
        if same and same[-1].end > note.start:
            same[-1] = replace(same[-1], end=note.start)
        same.append(note)
    return sorted(note for same in found.values() for note in same)
