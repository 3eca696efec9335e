"""JSON files, written whole or not at all."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from seqloom.settings import UserError


def write(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part; after a crash too."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def read(path: Path, what: str) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; it should hold {what}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise broken(path, what, "not UTF-8 text") from None


def parse(path: Path, what: str) -> Any:
    try:
        return json.loads(read(path, what))
    except ValueError as error:
        raise broken(path, what, str(error)) from None


def broken(path: Path, what: str, reason: str) -> UserError:
    return UserError(f"{path}: not {what} ({reason}); put back the file as it was saved, or train anew")
