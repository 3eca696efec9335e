"""The bytes of a Standard MIDI File ⇄ a piece. mido parses; what the messages mean is decided here."""

import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from seqloom.music.piece import BEAT, DRUMS, Note, Piece
from seqloom.settings import UserError

TICKS = 1000  # of a beat, in what is written: at 120 beats a minute half a millisecond
DRUM_CHANNEL = 9
CHANNELS = [channel for channel in range(16) if channel != DRUM_CHANNEL]
PEDAL, ALL_SOUND_OFF, RESET, ALL_NOTES_OFF = 64, 120, 121, 123
DOWN = 64  # from this value on the pedal is down
LONGEST = 24 * 3600.0  # seconds: a longer piece is a damaged file
FRAMES = {29: 30 / 1.001}  # frames a second that SMPTE calls 29


UNREADABLE = "MIDI that cannot be read"


class MidiError(ValueError):
    """What is wrong with a file, and what can be done; whoever reads it knows its name. kind: of faults, to count."""

    def __init__(self, what: str, fix: str = "copy or download it again, or remove it", kind: str = UNREADABLE) -> None:
        super().__init__(what)
        self.fix, self.kind = fix, kind


def _mido() -> Any:
    try:
        import mido
    except ImportError:
        raise UserError("MIDI files need the package mido: pip install 'seqloom[music]'") from None
    return mido


def read_midi(data: bytes) -> Piece:
    """Formats 0 and 1. Notes that the sustain pedal holds last until it is let go, or their key is struck again.

    A key that is struck twice and let go twice ends the first note first. A note that never ends lasts to the end.
    """
    mido = _mido()
    if not data:
        raise MidiError("an empty file")
    try:
        file = mido.MidiFile(file=io.BytesIO(data))
    except EOFError:
        raise MidiError("the MIDI file ends too early") from None
    except Exception as error:  # damaged bytes reach every corner of the parser, which has no class for them
        raise MidiError(f"no MIDI file, or a damaged one ({error})") from None
    if file.type == 2:
        what = "format 2: several songs that do not belong together"
        raise MidiError(what, "save each as a file of its own", "MIDI of several songs")
    if not file.ticks_per_beat:
        raise MidiError("a damaged MIDI file (no ticks to a beat)")
    piece = _piece(file)
    if not piece.notes:
        raise MidiError("no note in it", "remove it", "MIDI without a note")
    if piece.seconds(piece.end) > LONGEST:
        raise MidiError(f"a damaged MIDI file (it lasts {piece.seconds(piece.end) / 3600:,.0f} hours)")
    return piece


def _piece(file: Any) -> Piece:
    beat = _ticks_of_beat(file.ticks_per_beat)
    tempos, player, now = {0.0: BEAT}, _Player(), 0.0
    for tick, track, message in _messages(file):
        now = tick / beat
        if message.type == "set_tempo" and file.ticks_per_beat > 0:
            if not message.tempo:
                raise MidiError("a damaged MIDI file (a tempo of 0)")
            tempos[now] = message.tempo / 1e6
        elif hasattr(message, "channel"):
            player.play(message, track, now)
    player.stop(now)
    return Piece(tuple(sorted(player.notes)), tuple(sorted(tempos.items())))


def _ticks_of_beat(division: int) -> float:
    """Below zero, SMPTE: −frames a second and ticks of a frame. Such a file has seconds alone: BEAT are a beat."""
    if division > 0:
        return division
    frames, ticks = -(division >> 8), division & 0xFF
    if not ticks:
        raise MidiError("a damaged MIDI file (no ticks to a frame)")
    return FRAMES.get(frames, frames) * ticks * BEAT


def _messages(file: Any) -> Iterator[tuple[int, int, Any]]:
    """Of all tracks, in the order of time: the tick, the track's number, the message."""
    found = []
    for number, track in enumerate(file.tracks):
        tick = 0
        for message in track:
            tick += message.time
            found.append((tick, number, message))
    return iter(sorted(found, key=lambda one: one[0]))


Key = tuple[int, int]  # channel and pitch


@dataclass
class _Player:
    """Hears messages, and writes down notes."""

    notes: list[Note] = field(default_factory=list)
    down: dict[Key, deque[Note]] = field(default_factory=dict)
    held: dict[Key, list[Note]] = field(default_factory=dict)
    """let go, but sounding, as the pedal is down"""
    pedals: set[int] = field(default_factory=set)
    programs: dict[int, int] = field(default_factory=dict)
    parts: dict[tuple[int, int], int] = field(default_factory=dict)

    def play(self, message: Any, track: int, now: float) -> None:
        match message.type:
            case "note_on" if message.velocity:
                self._strike(message, track, now)
            case "note_on" | "note_off":
                self._let_go((message.channel, message.note), now)
            case "program_change":
                self.programs[message.channel] = message.program
            case "control_change":
                self._control(message, now)

    def _strike(self, message: Any, track: int, now: float) -> None:
        key = message.channel, message.note
        self._end(self.held.pop(key, []), now)
        drums = message.channel == DRUM_CHANNEL
        program = DRUMS if drums else self.programs.get(message.channel, 0)
        part = self.parts.setdefault((track, message.channel), len(self.parts))
        note = Note(now, now, message.note, message.velocity, program, part)
        self.down.setdefault(key, deque()).append(note)

    def _let_go(self, key: Key, now: float) -> None:
        if not self.down.get(key):
            return
        note = self.down[key].popleft()
        if key[0] in self.pedals:
            self.held.setdefault(key, []).append(note)
        else:
            self._end([note], now)

    def _control(self, message: Any, now: float) -> None:
        channel = message.channel
        if message.control == PEDAL and message.value >= DOWN:
            self.pedals.add(channel)
        elif message.control in (PEDAL, RESET):
            self.pedals.discard(channel)
            self._end_all(self.held, channel, now)
        elif message.control in (ALL_SOUND_OFF, ALL_NOTES_OFF):
            self._end_all(self.held, channel, now)
            self._end_all(self.down, channel, now)

    def stop(self, now: float) -> None:
        for channel in range(16):
            self._end_all(self.held, channel, now)
            self._end_all(self.down, channel, now)

    def _end_all(self, which: Any, channel: int, now: float) -> None:
        for key in [key for key in which if key[0] == channel]:
            self._end(which.pop(key), now)

    def _end(self, notes: Any, now: float) -> None:
        self.notes += [Note(one.start, now, one.pitch, one.velocity, one.program, one.part) for one in notes]


def write_midi(piece: Piece) -> bytes:
    """Format 1: a track of tempos, then a track for each instrument and part.

    Of more players than channels some share one: there each note says who plays it.
    """
    mido = _mido()
    first = [(_tick(beat), mido.MetaMessage("set_tempo", tempo=round(each * 1e6))) for beat, each in piece.tempos]
    players: dict[tuple[int, int], list[Note]] = {}
    for note in piece.notes:
        players.setdefault((note.part, note.program), []).append(note)
    tracks, free = [first], 0
    programs = [program for _, program in players if program != DRUMS]
    for (_, program), notes in sorted(players.items()):
        channel = DRUM_CHANNEL if program == DRUMS else CHANNELS[free % len(CHANNELS)]
        free += program != DRUMS
        tracks.append(_track(mido, notes, channel, program, len(programs) > len(CHANNELS)))
    file = mido.MidiFile(type=1, ticks_per_beat=TICKS)
    for messages in tracks:
        file.tracks.append(_timed(mido, messages))
    out = io.BytesIO()
    file.save(file=out)
    return out.getvalue()


def _track(mido: Any, notes: list[Note], channel: int, program: int, shared: bool) -> list[tuple[int, Any]]:
    messages = list[tuple[int, Any]]()
    for note in notes:
        begin = _tick(note.start)
        end = max(begin + 1, _tick(note.end))
        if program != DRUMS and (shared or not messages):
            at = begin if shared else 0
            messages.append((at, mido.Message("program_change", channel=channel, program=program)))
        sound: dict[str, int] = {"channel": channel, "note": note.pitch}
        messages.append((begin, mido.Message("note_on", velocity=note.velocity, **sound)))
        messages.append((end, mido.Message("note_off", **sound)))
    return messages


def _timed(mido: Any, messages: list[tuple[int, Any]]) -> Any:
    """At one tick what ends ends first, so that a key can be struck again."""
    track, now = mido.MidiTrack(), 0
    rank = {"note_off": 1, "note_on": 2}
    for tick, message in sorted(messages, key=lambda one: (one[0], rank.get(one[1].type, 0))):
        track.append(message.copy(time=tick - now))
        now = tick
    return track


def _tick(beat: float) -> int:
    return round(beat * TICKS)
