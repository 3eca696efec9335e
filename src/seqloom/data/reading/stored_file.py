"""A name that a user gave → a file that can be read more than once."""

import atexit
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from seqloom.data.file_format import STDIN
from seqloom.data.reading.faults import DataError
from seqloom.settings.cache_folder import cache_folder
from seqloom.settings.words import nearest


def shown(name: str) -> str:
    """The name for messages."""
    return "standard input" if name == STDIN else name


def shown_all(names: Sequence[str]) -> str:
    """Some names for messages: of many, the first."""
    if len(names) <= 2:
        return " and ".join(map(shown, names))
    return f"{shown(names[0])} and {len(names) - 1:,} others"


def stored(name: str) -> Path:
    """The file of that name. Standard input and pipes can be read only once, so they are copied to a file first.

    The copy is known to this process and those that it forks later.
    """
    if name == STDIN:
        return _copy(name)
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except PermissionError:
        raise DataError(f"{name}: no permission to look there; mend it with chmod or ask the owner") from None
    except OSError:
        raise DataError(_missing(path)) from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{name}: a folder; name the files in it{_example(path)}")
    return path if stat.S_ISREG(mode) else _copy(name)


def is_folder(name: str) -> bool:
    return name != STDIN and Path(name).is_dir()


def files_in(folder: str) -> list[Path]:
    """All files of a folder and its folders, by name; hidden ones are not meant."""
    root = Path(folder)
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def size_of(name: str) -> int:
    """In bytes; of a folder that of all its files."""
    if is_folder(name):
        return sum(path.stat().st_size for path in files_in(name))
    return stored(name).stat().st_size


def _missing(path: Path) -> str:
    folder = path.parent
    if path.is_symlink():
        return f"{path}: a link to a file that is not there; mend the link"
    if not folder.is_dir():
        near = nearest(folder.name, _names(folder.parent))
        return f"{path}: there is no folder {folder}; " + (f"did you mean {folder.parent / near}?" if near else _look())
    near = nearest(path.name, _names(folder))
    if near is not None and nearest(path.stem, [Path(near).stem]) is None:  # only the ending is alike
        near = None
    return f"{path}: no such file; " + (f"did you mean {folder / near}?" if near else _look())


def _look() -> str:
    return f"paths count from {Path.cwd()}"


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _example(folder: Path) -> str:
    """The first file, which may be in a folder in it."""
    while folder.is_dir():
        names = sorted(name for name in _names(folder) if not name.startswith("."))
        if not names:
            return ", but it is empty"
        folder /= names[0]
    return f", for example {folder}"


@cache  # what was read once cannot be read again
def _copy(name: str) -> Path:
    folder = cache_folder() / "pipes"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as copy:
            atexit.register(Path(copy.name).unlink, missing_ok=True)
            if name == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with Path(name).open("rb") as pipe:
                    shutil.copyfileobj(pipe, copy)
    except OSError as error:
        raise DataError(
            f"{shown(name)}: cannot be copied to {folder} ({error.strerror or error}); "
            "free some space there, or name another folder in SEQLOOM_CACHE"
        ) from None
    return Path(copy.name)
