"""The events of large MIDI files, kept: parsing takes long, and a file is read several times."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress

from seqloom.music import EventSettings
from seqloom.settings.cache_folder import cache_folder

FORMAT = 1  # to be raised when other events are made of the same file
LARGE = 16_384  # bytes; smaller ones are parsed as fast as they are found


def kept_events(data: bytes, events: EventSettings, parse: Callable[[], str]) -> str:
    """The text of a file's events: from the cache, else parsed, which may raise, and put there."""
    if len(data) < LARGE:
        return parse()
    key = hashlib.blake2b(data, digest_size=16, salt=b"midi", person=str(FORMAT).encode())
    key.update(events.model_dump_json().encode())
    file = cache_folder() / "music" / key.hexdigest()
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="ascii")
    text = parse()
    with suppress(OSError):  # a folder that cannot be written to costs time, no more
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="ascii") as partial:
            partial.write(text)
        os.replace(partial.name, file)  # noqa: PTH105 - the file has a name only
    return text
