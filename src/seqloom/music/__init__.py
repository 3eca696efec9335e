"""Music as a sequence of events: notes ⇄ words, MIDI files ⇄ notes. No torch here."""

from seqloom.music.events import event_words, read_events, write_events
from seqloom.music.midi_file import MidiError, read_midi, write_midi
from seqloom.music.piece import DRUMS, Note, Piece
from seqloom.music.settings import EventSettings, Performance, Voices

__all__ = [
    "DRUMS",
    "EventSettings",
    "MidiError",
    "Note",
    "Performance",
    "Piece",
    "Voices",
    "event_words",
    "read_events",
    "read_midi",
    "write_events",
    "write_midi",
]
