"""What systems are called in a table: as whoever asks says (NAME=FILE), or as their files and folders are."""

import os
from collections.abc import Sequence
from pathlib import Path

from seqloom.settings import UserError


def name_systems(words: Sequence[str], what: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The systems' names, and their files or runs. what: these are, for messages."""
    split = [_split(word, what) for word in words]
    files = tuple(file for _, file in split)
    alone = [file for name, file in split if not name]
    for file in alone:
        if alone.count(file) > 1:
            raise UserError(f"{file}: is named twice; name each {what} once, or call them otherwise: NAME={file}")
    short = _short(alone)
    names = tuple(name or short[file] for name, file in split)
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems would be called {name!r}; call one of them otherwise: NAME={what.upper()}")
    return names, files


def _split(word: str, what: str) -> tuple[str, str]:
    """A name, empty if there is none, and a file, which may have a = in its own."""
    name, equals, file = word.partition("=")
    if not equals or os.path.exists(word) or os.sep in name:  # noqa: PTH110 (a Path of a long name raises)
        return "", word
    if not (name.strip() and file):
        raise UserError(f"{word}: should be NAME={what.upper()}, but one of both is missing")
    return name.strip(), file


def _short(files: Sequence[str]) -> dict[str, str]:
    """Their names without folders, where that tells them apart."""
    short = [Path(file).name or file for file in files]
    return dict(zip(files, short if len(set(short)) == len(short) else files, strict=True))
