"""Bytes that are read once, as they come: from a pipe or a terminal."""

import select
from typing import BinaryIO

from seqloom.data.file_format import STDIN
from seqloom.data.reading.byte_stream import MAGIC
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.stored_file import shown


class LiveStream:
    """Unlike ByteStream it keeps no copy, and gives what is there before all has come."""

    def __init__(self, file: BinaryIO, name: str = STDIN) -> None:
        self.name = shown(name)
        self.consumed = 0
        self._file = file

    def read(self, count: int) -> bytes:
        """Some bytes, as soon as there are any; none at the end."""
        data = bytes(getattr(self._file, "read1", self._file.read)(count))
        for magic, packed in MAGIC.items():
            if not self.consumed and data.startswith(magic):
                raise DataError(f"{self.name}: packed with {packed}; name the file, or unpack it on the way")
        self.consumed += len(data)
        return data

    @property
    def waiting(self) -> bool:
        try:
            return bool(select.select([self._file], [], [], 0)[0])
        except (OSError, ValueError, TypeError):
            return True  # nothing of the system's, but bytes in memory

    def close(self) -> None:
        """It is the process's own."""
