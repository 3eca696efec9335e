"""A text that is at hand, read as a file would be."""

from io import BytesIO


class TextStream:
    """name: what messages call it."""

    waiting = True

    def __init__(self, name: str, text: str) -> None:
        self.name, self._bytes = name, BytesIO(text.encode())

    @property
    def consumed(self) -> int:
        return self._bytes.tell()

    def read(self, count: int) -> bytes:
        return self._bytes.read(count)

    def close(self) -> None:
        self._bytes.close()
