"""A grid of voices: at each step the pitch of each, the highest voice first: 67 62 59 43 67 62 59 43 …

As Huang et al. 2018 write the chorales of Bach: sixteenths, soprano, alto, tenor, bass.
"""

from collections.abc import Sequence

from seqloom.music.piece import DRUMS, PITCHES, Note, Piece
from seqloom.music.settings import Voices

REST = "rest"
SLOW = 0.6  # seconds of a beat, as a chorale is sung
ORGAN = 19  # a program whose notes do not fade


class TooManyVoicesError(ValueError):
    """More notes at once than there are voices."""


def voice_words(settings: Voices) -> list[str]:
    return [REST, *map(str, range(PITCHES))]


def voiced(piece: Piece, settings: Voices) -> list[str]:
    """The steps of a piece, up to its last note. Drums have no voice. Raises TooManyVoicesError.

    Where as many parts (tracks and channels) play as there are voices, none of them chords, each is a voice, the
    highest first; otherwise what sounds at a step goes to the voices from the top.
    """
    notes = [note for note in piece.notes if note.program != DRUMS]
    parts: dict[int, list[Note]] = {}
    for note in notes:
        parts.setdefault(note.part, []).append(note)
    steps = max((_span(note, settings)[1] for note in notes), default=0)
    if len(parts) == settings.voices and not any(_chords(part, settings) for part in parts.values()):
        ordered = sorted(parts.values(), key=lambda part: -sum(note.pitch for note in part) / len(part))
        grid = [_line(part, steps, settings) for part in ordered]
    else:
        grid = _from_the_top(notes, steps, settings)
    return [REST if line[step] is None else str(line[step]) for step in range(steps) for line in grid]


def _span(note: Note, settings: Voices) -> tuple[int, int]:
    begin = int(note.start * settings.per_beat + 0.5)
    return begin, max(begin + 1, int(note.end * settings.per_beat + 0.5))


def _chords(part: Sequence[Note], settings: Voices) -> bool:
    """Whether notes of a part begin together; one that hangs over into the next is no chord."""
    begins: dict[int, int] = {}
    return any(begins.setdefault(_span(note, settings)[0], note.pitch) != note.pitch for note in part)


def _line(part: Sequence[Note], steps: int, settings: Voices) -> list[int | None]:
    """Of one voice. Where a note begins before another ends, the new one is sung."""
    line: list[int | None] = [None] * steps
    for note in sorted(part):
        begin, end = _span(note, settings)
        line[begin:end] = [note.pitch] * (end - begin)
    return line


def _from_the_top(notes: Sequence[Note], steps: int, settings: Voices) -> list[list[int | None]]:
    sounding: list[set[int]] = [set() for _ in range(steps)]
    for note in notes:
        for step in range(*_span(note, settings)):
            sounding[step].add(note.pitch)
    for step, pitches in enumerate(sounding):
        if len(pitches) > settings.voices:
            raise TooManyVoicesError(
                f"{len(pitches)} notes sound at once at beat {step / settings.per_beat:g}, "
                f"and there are {settings.voices} voices"
            )
    ordered = [sorted(pitches, reverse=True) for pitches in sounding]
    return [
        [pitches[voice] if voice < len(pitches) else None for pitches in ordered] for voice in range(settings.voices)
    ]


def sung(words: Sequence[str], settings: Voices) -> Piece:
    """The piece that some steps are; a word that is no pitch is a rest."""
    notes = []
    for voice in range(settings.voices):
        line = [_pitch(word) for word in words[voice :: settings.voices]]
        begin = 0
        for step in range(1, len(line) + 1):
            if step < len(line) and line[step] == line[begin]:
                continue
            if (pitch := line[begin]) is not None:
                notes.append(
                    Note(begin / settings.per_beat, step / settings.per_beat, pitch, program=ORGAN, part=voice)
                )
            begin = step
    return Piece(tuple(sorted(notes)), ((0.0, SLOW),))


def _pitch(word: str) -> int | None:
    return int(word) if word.isdecimal() and int(word) < PITCHES else None
