"""What a corpus holds, in a few letters."""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from seqloom.data.file_format import HUB
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.hub import hub_fingerprint
from seqloom.data.reading.midi import files_of
from seqloom.data.reading.stored_file import files_in, is_folder, shown, stored
from seqloom.data.settings import Corpus
from seqloom.settings.cache_folder import cache_folder

SMALL = 8 << 20
SETTLED = 2.0
_PIECE = 1 << 20


def fingerprint(corpus: Corpus) -> str:
    """A hash of the content of the files, whatever their names; of the version for a Hugging Face dataset."""
    if corpus.files[0].startswith(HUB):
        return hub_fingerprint(corpus.files[0])
    each = [_file_fingerprint(name) for name in files_of(corpus)]
    return each[0] if len(each) == 1 else _short("+".join(each))


def _file_fingerprint(name: str) -> str:
    """A large file is read once: a stamp in the cache folder keeps its hash for as long as the file is unchanged."""
    if is_folder(name):
        return _folder_fingerprint(name)
    path = stored(name)
    before = path.stat()
    if before.st_size < SMALL:
        return _hash(name, path)
    key = repr((str(path.resolve()), before.st_size, before.st_mtime_ns, before.st_ino))
    stamp = cache_folder() / "fingerprints" / _short(key)
    with suppress(OSError, UnicodeDecodeError):
        kept = stamp.read_text(encoding="ascii").strip()
        if len(kept) == 32:
            return kept
    found = _hash(name, path)
    after = path.stat()
    # Clocks of file systems are coarse: what was changed a moment ago may be changed again without a trace.
    settled = time.time() - after.st_mtime > SETTLED
    if settled and (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
        _keep(stamp, found)
    return found


def _folder_fingerprint(name: str) -> str:
    """Of all files in it, with their names, which may be their classes."""
    files = files_in(name)
    return _short("+".join(f"{path.relative_to(name).as_posix()}:{_hash(str(path), path)}" for path in files))


def _hash(name: str, path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    # opened once through the readers' door, for its messages
    ByteStream(name).close()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise DataError(f"{shown(name)}: cannot be read ({error.strerror}); is the disk in order?") from None
    return digest.hexdigest()


def _keep(stamp: Path, found: str) -> None:
    """A folder that cannot be written to costs time, no more."""
    with suppress(OSError):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=stamp.parent, delete=False, encoding="ascii") as file:
            file.write(found)
        os.replace(file.name, stamp)  # noqa: PTH105 - the file has a name only


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
