"""The bytes of a file, unpacked, and how far in the file they are."""

import bz2
import lzma
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa

from seqloom.data.file_format import compression
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.stored_file import shown, stored

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zX": "xz"}
MAGIC |= {b"BZh%d" % level: "bzip2" for level in range(1, 10)}


class ByteStream:
    """A file opened for reading from begin to end; what is packed is unpacked on the way."""

    def __init__(self, name: str) -> None:
        self.name = shown(name)
        path = stored(name)
        try:
            self._file: BinaryIO = path.open("rb")
        except PermissionError:
            raise DataError(f"{self.name}: no permission to read it; mend it with chmod or ask the owner") from None
        except OSError as error:
            raise DataError(f"{self.name}: cannot be opened ({error.strerror}); is the disk in order?") from None
        # a pipe has no ending, so there the content tells
        self._packed = compression(name) if path == Path(name) else self._magic()
        self._stream: Any = self._unpacked()

    def _unpacked(self) -> Any:
        match self._packed:
            case None:
                return self._file
            case "xz":
                return lzma.LZMAFile(self._file)
            case "bzip2":
                return bz2.BZ2File(self._file)
            case packed:
                return pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), packed)

    def _magic(self) -> str | None:
        head = self._file.read(4)
        self._file.seek(0)
        return next((packed for magic, packed in MAGIC.items() if head.startswith(magic)), None)

    def read(self, count: int) -> bytes:
        """As many bytes, fewer only at the end."""
        try:
            return self._stream.read(count)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise DataError(self._fault(str(error))) from None

    def _fault(self, error: str) -> str:
        place = f"{self.name}: near byte {self._file.tell():,}"
        if not self._packed:
            return f"{place}: cannot be read ({error}); is the disk in order?"
        if "Truncated" in error or "ended before" in error:
            return f"{place}: the {self._packed} file ends too early; copy or download it again"
        return f"{place}: not {self._packed}, or damaged; copy it again, or take the ending off if it is not packed"

    @property
    def waiting(self) -> bool:
        return True

    @property
    def consumed(self) -> int:
        """How many bytes of the file were read so far, packed as they are."""
        return self._file.tell()

    def close(self) -> None:
        self._stream.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
