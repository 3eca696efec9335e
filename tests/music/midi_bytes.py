"""MIDI files, byte by byte, so that no library stands between a test and what it means."""

import struct
from collections.abc import Iterable

END = b"\x00\xff\x2f\x00"


def varint(number: int) -> bytes:
    out = bytes([number & 0x7F])
    while number := number >> 7:
        out = bytes([0x80 | (number & 0x7F)]) + out
    return out


def track(*events: tuple[int, bytes]) -> bytes:
    """events: each with the ticks since the one before."""
    data = b"".join(varint(delta) + event for delta, event in events) + END
    return b"MTrk" + struct.pack(">I", len(data)) + data


def midi(tracks: Iterable[bytes], form: int = 1, division: int = 480) -> bytes:
    tracks = list(tracks)
    return b"MThd" + struct.pack(">IHHH", 6, form, len(tracks), division & 0xFFFF) + b"".join(tracks)


def on(pitch: int, velocity: int = 80, channel: int = 0) -> bytes:
    return bytes([0x90 | channel, pitch, velocity])


def off(pitch: int, channel: int = 0) -> bytes:
    return bytes([0x80 | channel, pitch, 64])


def pedal(value: int, channel: int = 0) -> bytes:
    return bytes([0xB0 | channel, 64, value])


def tempo(microseconds: int) -> bytes:
    return b"\xff\x51\x03" + microseconds.to_bytes(3, "big")
