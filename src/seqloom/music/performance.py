"""A performance: notes ⇄ on-60, off-60, shift-25, velocity-20, one after the other.

Oore et al. 2018 (arXiv:1808.03715, section 3.2), with the steps of 10 ms of Huang et al. 2018. Beyond theirs, where
`instruments` is set: program-40 says who plays from here on, and drum-36 is a stroke, which has no end.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from seqloom.music.piece import BEAT, DRUMS, PITCHES, Note, Piece, one_by_one
from seqloom.music.settings import Performance

LOUDEST = 127
STROKE = 0.1  # seconds that a drum's stroke is written with
UNSAID = 64  # the velocity before any is said


def performance_words(settings: Performance) -> list[str]:
    words = [f"on-{pitch}" for pitch in range(PITCHES)] + [f"off-{pitch}" for pitch in range(PITCHES)]
    words += [f"shift-{steps}" for steps in range(1, settings.longest_shift + 1)]
    words += [f"velocity-{degree}" for degree in range(1, settings.velocities + 1)]
    if settings.instruments:
        words += [f"drum-{pitch}" for pitch in range(PITCHES)]
        words += [f"program-{program}" for program in range(DRUMS)]
    return words


def perform(piece: Piece, settings: Performance) -> list[str]:
    """The events of a piece. A note that is shorter than a step gets one; drums are left out without instruments."""
    words: list[str] = []
    now, degree, program = 0, 0, 0
    for step, kind, which, pitch, loudness in sorted(_moments(piece, settings)):
        words += _shifts(step - now, settings.longest_shift)
        now = step
        if which not in (DRUMS, program):
            program = which
            words.append(f"program-{program}")
        if kind == _OFF:
            words.append(f"off-{pitch}")
            continue
        if loudness != degree:
            degree = loudness
            words.append(f"velocity-{degree}")
        words.append(f"drum-{pitch}" if which == DRUMS else f"on-{pitch}")
    return words


_OFF, _ON = 0, 1  # at one moment, what ends ends first


def _moments(piece: Piece, settings: Performance) -> Iterator[tuple[int, int, int, int, int]]:
    """Step, end or beginning, instrument, pitch, degree of loudness."""
    kept = []
    for note in piece.notes:
        if note.program == DRUMS and not settings.instruments:
            continue
        begin = _step(piece.seconds(note.start), settings)
        end = max(begin + 1, _step(piece.seconds(note.end), settings))
        program = note.program if settings.instruments else 0
        kept.append(Note(begin, end, note.pitch, note.velocity, program))
    for note in one_by_one(kept):
        degree = 1 + (max(note.velocity, 1) - 1) * settings.velocities // LOUDEST
        yield int(note.start), _ON, note.program, note.pitch, degree
        if note.program != DRUMS:
            yield int(note.end), _OFF, note.program, note.pitch, 0


def _step(seconds: float, settings: Performance) -> int:
    return int(seconds * settings.per_second + 0.5)


def _shifts(steps: int, longest: int) -> list[str]:
    whole, rest = divmod(steps, longest)
    return [f"shift-{longest}"] * whole + ([f"shift-{rest}"] if rest else [])


@dataclass
class _Player:
    """Plays events one by one; what says nothing, as a model may write anything, changes nothing."""

    settings: Performance
    now: int = 0
    velocity: int = UNSAID
    program: int = 0
    open: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def play(self, word: str) -> None:
        kind, _, digits = word.partition("-")
        if not digits.isdecimal():
            return
        number = int(digits)
        match kind:
            case "shift":
                self.now += number
            case "velocity":
                # the middle of all velocities that are written so
                self.velocity = min(LOUDEST, round((number - 0.5) * LOUDEST / self.settings.velocities + 0.5))
            case "program":
                self.program = number
            case "on":
                self.end(number)
                self.open[self.program, number] = self.now, self.velocity
            case "off":
                self.end(number)
            case "drum":
                stroke = max(1, round(STROKE * self.settings.per_second))
                self._note(self.now, self.now + stroke, number, self.velocity, DRUMS)

    def end(self, pitch: int) -> None:
        if (self.program, pitch) in self.open:
            start, velocity = self.open.pop((self.program, pitch))
            self._note(start, self.now, pitch, velocity, self.program)

    def _note(self, start: int, end: int, pitch: int, velocity: int, program: int) -> None:
        beats = self.settings.per_second * BEAT
        if end > start:
            self.notes.append(Note(start / beats, end / beats, pitch, velocity, program))

    def done(self) -> Piece:
        for program, pitch in list(self.open):
            self.program = program
            self.end(pitch)
        return Piece(tuple(sorted(self.notes)))


def played(words: Iterable[str], settings: Performance) -> Piece:
    """The piece that some events are."""
    player = _Player(settings)
    for word in words:
        player.play(word)
    return player.done()
