"""Where libraries are kept between runs. What is loaded is run: nobody else may own it or write to it."""

import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from seqloom.layers.native.compiler import CompilerError
from seqloom.settings.cache_folder import cache_folder

LESSER = 24 * 60 * 60
"""Seconds that a library serves which was not made with the best options: they may have failed by accident."""


def folders() -> list[Path]:
    """The cache folder; and where that cannot be written to, the machine's folder for what is temporary."""
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    found = [Path(tempfile.gettempdir()) / f"seqloom-native{user}"]
    with suppress(RuntimeError):  # a user without a home folder
        found.insert(0, cache_folder() / f"native{user}")
    return found


def kept(name: str, choices: int) -> Path | None:
    """What was made before: the best of so many choices, unless it is time to try again for a better one."""
    for folder in folders():
        for choice in range(choices):
            try:
                made = (file := folder / named(name, choice)).stat().st_mtime
            except OSError:
                continue
            return file if choice == 0 or time.time() - made < LESSER else None
    return None


def named(name: str, choice: int) -> str:
    """choice: of options, the best first."""
    return f"{name}-{choice}.so"


def folder_to_write() -> Path:
    for folder in folders():
        try:
            if _writable(folder):
                return folder
        except OSError:  # a home folder that is read-only
            continue
    places = " nor ".join(str(folder) for folder in folders())
    raise CompilerError(f"neither {places} can be written to; set SEQLOOM_CACHE to a folder of your own")


def _writable(folder: Path) -> bool:
    new = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if new and not _own(folder):  # a network drive that gives what is made to nobody
        folder.rmdir()
        return False
    private(folder)
    return os.access(folder, os.W_OK)


def private(path: Path) -> None:
    if not _own(path):
        raise CompilerError(f"{path} belongs to another user, or others may write to it; delete it")


def _own(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    about = path.lstat()
    writable = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return about.st_uid == os.getuid() and not writable and not stat.S_ISLNK(about.st_mode)
