"""A picture of a piece: time to the right, pitch upwards, a colour for each part; what was given is paler."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from seqloom.music.piece import DRUMS, Note, Piece

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 960, 6, 44, 10, 26, 24
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#975a16")
NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B")
SHARPS = (1, 3, 6, 8, 10)
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
MOST_TICKS = 12
AROUND = 2  # rows above the highest note and below the lowest


def piano_roll(piece: Piece, given: float = 0.0, title: str = "") -> str:
    """An SVG. given: seconds from the beginning that were the prompt."""
    frame = _Frame.of(piece)
    size = f'{WIDTH} {frame.bottom + BOTTOM}" font-family="sans-serif" font-size="10" fill="#444'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">',
        f'<rect width="{WIDTH}" height="{frame.bottom + BOTTOM}" fill="#fff"/>',
        f'<text x="{LEFT}" y="16" font-size="12">{escape(title)}</text>',
        *_keys(frame),
        *_clock(frame),
        *_notes(frame, piece, given),
    ]
    if given:
        lines.append(frame.upright(given, 'stroke="#c53030" stroke-dasharray="4"'))
    return "\n".join([*lines, "</svg>\n"])


@dataclass(frozen=True)
class _Frame:
    """Where seconds and pitches stand."""

    length: float
    low: int
    high: int

    @classmethod
    def of(cls, piece: Piece) -> "_Frame":
        pitches = [note.pitch for note in piece.notes] or [60]
        return cls(max(piece.seconds(piece.end), 1e-3), min(pitches) - AROUND, max(pitches) + AROUND)

    @property
    def bottom(self) -> int:
        return TOP + (self.high - self.low + 1) * ROW

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.length

    def y(self, pitch: int) -> int:
        return TOP + (self.high - pitch) * ROW

    def upright(self, seconds: float, look: str) -> str:
        x = f"{self.x(seconds):.1f}"
        return f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{self.bottom}" {look}/>'


def _keys(frame: _Frame) -> Iterator[str]:
    """The black keys as grey rows, and the name of each C."""
    for pitch in range(frame.low, frame.high + 1):
        y = frame.y(pitch)
        if pitch % 12 in SHARPS:
            yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{ROW}" fill="#f2f2f2"/>'
        if pitch % 12 == 0:
            yield f'<text x="{LEFT - 6}" y="{y + ROW}" text-anchor="end">{_name(pitch)}</text>'


def _clock(frame: _Frame) -> Iterator[str]:
    each = next((step for step in TICKS if frame.length / step <= MOST_TICKS), TICKS[-1])
    for number in range(int(frame.length / each) + 1):
        seconds = number * each
        yield frame.upright(seconds, 'stroke="#ddd"')
        yield f'<text x="{frame.x(seconds):.1f}" y="{frame.bottom + 14}" text-anchor="middle">{seconds:g} s</text>'


def _notes(frame: _Frame, piece: Piece, given: float) -> Iterator[str]:
    players = sorted({(note.program, note.part) for note in piece.notes})
    colours = {player: COLOURS[at % len(COLOURS)] for at, player in enumerate(players)}
    for note in piece.notes:
        begin, end = piece.seconds(note.start), piece.seconds(note.end)
        width = max(frame.x(end) - frame.x(begin) - 0.6, 0.8)
        paler = ' opacity="0.35"' if begin < given else ""
        yield (
            f'<rect x="{frame.x(begin):.1f}" y="{frame.y(note.pitch)}" width="{width:.1f}" height="{ROW - 1}" rx="1.5" '
            f'fill="{colours[note.program, note.part]}"{paler}><title>{_sound(note)}, {begin:.2f} s</title></rect>'
        )


def _sound(note: Note) -> str:
    return f"drum {note.pitch}" if note.program == DRUMS else _name(note.pitch)


def _name(pitch: int) -> str:
    return f"{NAMES[pitch % 12]}{pitch // 12 - 1}"
