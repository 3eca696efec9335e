"""Folders of the cache: each has a key as its name, and appears whole or not at all."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from seqloom.settings import FailedError

PARTIAL = ".partial-"
JUST_MADE = 60.0  # seconds


def digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


class Building:
    """A folder of the cache that appears whole; who comes second finds the first one's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Path:
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._remove_left()
            self.partial = Path(tempfile.mkdtemp(prefix=f"{self.folder.name}{PARTIAL}", dir=self.folder.parent))
            self.lock = _locked(self.partial)
        except OSError as error:
            raise self._failed(error) from None
        return self.partial

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        try:
            if kind is None:
                for file in self.partial.iterdir():
                    _to_disk(file)
                self._rename()
        except OSError as fault:
            raise self._failed(fault) from None
        finally:
            if self.lock is not None:
                os.close(self.lock)
            shutil.rmtree(self.partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _rename(self) -> None:
        try:
            self.partial.rename(self.folder)
        except OSError:
            if not self.folder.exists():
                raise

    def _remove_left(self) -> None:
        """What a killed process left: nobody holds its lock."""
        for left in self.folder.parent.glob(f"{self.folder.name}{PARTIAL}*"):
            try:
                made = left.stat().st_mtime
            except FileNotFoundError:  # another process is done with it
                continue
            young = time.time() - made < JUST_MADE  # may not have its lock yet
            if not young and (lock := _locked(left)) is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)

    def _failed(self, error: OSError) -> FailedError:
        return FailedError(
            f"{self.folder.parent}: cannot be written: {error.strerror or error}; "
            "make room there, or name another folder in SEQLOOM_CACHE"
        )


def _locked(folder: Path) -> int | None:
    """A lock on a folder, held until it is closed; None if another process has it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _to_disk(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
