"""A MIDI file as what a model of music is asked to go on with: its events, or the last of them."""

from collections.abc import Sequence

from seqloom.data.file_format import format_by_name
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.stored_file import stored
from seqloom.music import EventSettings, MidiError, Voices, read_midi, write_events
from seqloom.music.voices import TooManyVoicesError
from seqloom.settings import UserError


def read_prompt(file: str, events: EventSettings) -> list[str]:
    if format_by_name(file) != "midi":
        raise UserError(f"{file}: a prompt is a MIDI file (.mid, .midi)")
    stored(file)  # for its messages
    with ByteStream(file) as stream:
        data = stream.read(1 << 30)
    try:
        return write_events(read_midi(data), events)
    except (MidiError, TooManyVoicesError) as error:
        raise UserError(f"{file}: {error}; copy or export it again, or take another prompt") from None


def last_events(prompt: Sequence[str], most: int, events: EventSettings) -> Sequence[str]:
    """As many as there may be; of a grid, whole steps."""
    step = events.voices if isinstance(events, Voices) else 1
    return prompt[len(prompt) - max(most // step, 1) * step :] if len(prompt) > most else prompt
