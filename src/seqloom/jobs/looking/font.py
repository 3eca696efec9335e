"""Fonts for words in pictures of pixels: of each word one that has its letters, among those of this machine."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from seqloom.settings import UserError

FIRST = ("DejaVuSans", "NotoSans-Regular", "Arial", "LiberationSans-Regular", "NotoSans")
"""Names that are tried before others: plain ones, with many letters."""
NOT = ("bold", "italic", "oblique", "mono", "light", "thin", "black", "condensed", "emoji")
ENDINGS = (".ttf", ".otf", ".ttc")


def pillow(name: str) -> Any:
    """Its module of this name: Image, ImageDraw, ImageFont."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise UserError(
            "words in a PNG need one more package: pip install 'seqloom[images]'; an SVG needs none"
        ) from None
    return {"Image": Image, "ImageDraw": ImageDraw, "ImageFont": ImageFont}[name]


class Fonts:
    """size: in pixels. file: the user's own; None: Pillow's own font, and behind it those of this machine."""

    def __init__(self, size: int, file: Path | None = None) -> None:
        self.size = size
        self._own = None if file is None else self._opened(file)

    def of(self, text: str) -> Any:
        """A font that has all letters of a text, or the one that has most of them."""
        if self._own is not None:
            return self._own
        best, least = None, len(text) + 1
        for font in self._fonts():
            lost = sum(1 for letter in set(text) if not letter.isspace() and not _has(font, letter))
            if lost < least:
                best, least = font, lost
            if not lost:
                break
        return best

    def lost(self, texts: Iterable[str]) -> list[str]:
        """Letters that no font here has."""
        found = dict.fromkeys(
            letter for text in texts for letter in text if not letter.isspace() and not _has(self.of(text), letter)
        )
        return list(found)

    def _fonts(self) -> Iterator[Any]:
        yield pillow("ImageFont").load_default(self.size)
        for file in files():
            try:
                yield _open(file, self.size)
            except OSError:  # a file of another kind, or a broken one
                continue

    def _opened(self, file: Path) -> Any:
        try:
            return _open(file, self.size)
        except OSError as error:
            raise UserError(f"{file}: is no font that can be read ({error})") from None


@cache
def _open(file: Path, size: int) -> Any:
    return pillow("ImageFont").truetype(str(file), size)


@cache
def _has(font: Any, letter: str) -> bool:
    """What a font does not have is drawn as what no font has."""
    return bool(font.getmask(letter).getbbox()) and bytes(font.getmask(letter)) != bytes(font.getmask("\U0010fffe"))


@cache
def files() -> Sequence[Path]:
    """Of this machine, the plain ones first."""
    found = [file for folder in _folders() for file in folder.rglob("*") if file.suffix.lower() in ENDINGS]

    def turn(file: Path) -> tuple[int, bool, str]:
        known = FIRST.index(file.stem) if file.stem in FIRST else len(FIRST)
        return known, any(word in file.stem.lower() for word in NOT), file.name

    return sorted(found, key=turn)


def _folders() -> list[Path]:
    home = Path.home()
    match sys.platform:
        case "darwin":
            every = [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
        case "win32":
            every = [Path(os.environ.get("WINDIR", "C:/Windows")) / "Fonts"]
        case _:
            every = [
                Path("/usr/share/fonts"),
                Path("/usr/local/share/fonts"),
                home / ".local/share/fonts",
                home / ".fonts",
            ]
    return [folder for folder in every if folder.is_dir()]
