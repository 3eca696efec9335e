"""TensorBoard's event files, written without TensorBoard.

A file is a row of records: length, its checksum, an `Event` as protobuf, its checksum. The messages that are needed
have few fields, so they are encoded by hand; docs/decisions/0013-our-own-event-writer.md says why.
"""

import os
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

# The numbers of the fields, from tensorboard's event.proto and summary.proto.
_EVENT_TIME, _EVENT_STEP, _EVENT_VERSION, _EVENT_SUMMARY, _EVENT_SESSION = 1, 2, 3, 5, 7
_SESSION_STATUS, _SESSION_START = 1, 1
_SUMMARY_VALUE = 1
_VALUE_TAG, _VALUE_NUMBER = 1, 2


class EventWriter:
    """Numbers over steps, into a new file of a folder.

    A run that goes on after step s opens a new one with `after=s`: whatever older files hold of later steps is then
    no longer shown, as it is made again. Records are whole or, if the run is killed, cut off at the end of a file,
    where readers stop.
    """

    def __init__(self, folder: Path, after: int | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)
        self.path = _free(folder, int(clock()))
        self._file = self.path.open("xb")
        self._write(0, _text(_EVENT_VERSION, "brain.Event:2"))
        if after is not None:
            # readers drop what they have of this step and of later ones
            self._write(after + 1, _bytes(_EVENT_SESSION, _whole(_SESSION_STATUS, _SESSION_START)))
        self.flush()

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers by tag, such as `loss/train`: tags with the same beginning stand together."""
        summary = b"".join(
            _bytes(_SUMMARY_VALUE, _text(_VALUE_TAG, tag) + _float(_VALUE_NUMBER, value))
            for tag, value in values.items()
        )
        self._write(step, _bytes(_EVENT_SUMMARY, summary))

    def flush(self) -> None:
        """Give all records to the system, so that they can be read."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, step: int, what: bytes) -> None:
        self._file.write(record(_double(_EVENT_TIME, self._clock()) + _whole(_EVENT_STEP, step) + what))


def _free(folder: Path, second: int) -> Path:
    """A name that is behind all others: TensorBoard reads the files of a folder in the order of their names."""
    latest = max((_number(file) for file in folder.glob("events.out.tfevents.*")), default=0)
    return folder / f"events.out.tfevents.{max(second, latest + 1):010d}.{os.getpid()}.seqloom"


def _number(file: Path) -> int:
    number = file.name.split(".")[3]
    return int(number) if number.isdecimal() else 0


def record(data: bytes) -> bytes:
    """A record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked(crc32c(length))) + data + struct.pack("<I", _masked(crc32c(data)))


def _table() -> list[int]:
    """The checksum of each byte alone, by Castagnoli's polynomial, lowest bit first."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    rest = 0xFFFFFFFF
    for byte in data:
        rest = _TABLE[(rest ^ byte) & 0xFF] ^ (rest >> 8)
    return rest ^ 0xFFFFFFFF


def _masked(checksum: int) -> int:
    """Turned and moved, as a checksum of data that holds checksums would be weak."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


# Protobuf: each field is its number and wire type in one varint, then the value.


def _varint(value: int) -> bytes:
    parts = bytearray()
    value &= 0xFFFFFFFFFFFFFFFF  # negative ones are written as 64 bits
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _whole(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _float(field: int, value: float) -> bytes:
    try:
        number = struct.pack("<f", value)
    except OverflowError:  # more than single precision can hold
        number = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return _varint(field << 3 | 5) + number
