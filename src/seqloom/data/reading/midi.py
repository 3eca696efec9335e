"""MIDI files: each is an example, a text of its events."""

from collections.abc import Iterator
from pathlib import Path

from seqloom.data.folder import midi_in
from seqloom.data.reading.block import Places, Rows, Shape
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.kept_events import kept_events
from seqloom.data.settings import Corpus
from seqloom.music import EventSettings, MidiError, Performance, read_midi, write_events
from seqloom.music.midi_file import UNREADABLE
from seqloom.music.voices import TooManyVoicesError

WHOLE = Places(numbered=False)
MOST = 64 << 20  # bytes; the largest MIDI files that people share have a few million notes


def files_of(corpus: Corpus) -> tuple[str, ...]:
    """The files that are read, one by one: a folder of MIDI stands for all that are in it."""
    if not corpus.midi:
        return corpus.files
    return tuple(file for name in corpus.files for file in _files(name))


def _files(name: str) -> list[str]:
    if not Path(name).is_dir():
        return [name]
    found = midi_in(name)
    if not found:
        raise DataError(f"{name}: no MIDI file in this folder (.mid, .midi)")
    return found


def read_midi_files(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    if shape != "text":
        raise DataError(f"{corpus.files[0]}: MIDI holds music alone, but this task reads {shape}")
    events = corpus.events or Performance()
    for number, name in enumerate(files_of(corpus), 1):
        with ByteStream(name) as stream:
            data = _unpacked(stream)
            size = stream.consumed
        text = data if isinstance(data, Broken) else _text(data, events)
        yield Rows((name,), [number], ([text],), size, places=WHOLE)


def _unpacked(stream: ByteStream) -> bytes | Broken:
    """A packed file that is damaged is one example that is lost, where a table would lose all that follows."""
    try:
        return stream.read(MOST)
    except DataError as error:
        what, _, fix = str(error).removeprefix(f"{stream.name}: ").rpartition("; ")
        return Broken(UNREADABLE, what, fix)


def _text(data: bytes, events: EventSettings) -> str | Broken:
    try:
        return kept_events(data, events, lambda: _parsed(data, events))
    except MidiError as error:
        return Broken(error.kind, str(error), error.fix)
    except TooManyVoicesError as error:
        fix = 'set more voices (task.events.voices), or task.events.kind = "performance"'
        return Broken("more notes at once than voices", str(error), fix)


def _parsed(data: bytes, events: EventSettings) -> str:
    piece = read_midi(data)
    words = write_events(piece, events)
    if not words:
        raise MidiError(
            f"nothing but drums ({len(piece.notes):,} strokes)",
            "set task.events.instruments = true, or leave the file out",
            "MIDI of drums alone",
        )
    return " ".join(words)
