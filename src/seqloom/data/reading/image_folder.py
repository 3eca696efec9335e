"""A folder with a folder of images for each class, read with the extra `images`.

digits/3/a.png, digits/3/b.png, digits/7/c.png: two pictures of a 3 and one of a 7
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from seqloom.data.file_format import compression, format_by_name
from seqloom.data.reading.block import Places, Rows
from seqloom.data.reading.faults import DataError, inside
from seqloom.data.reading.series_rows import UNLABELLED, One, broken, gathered
from seqloom.data.reading.stored_file import files_in, is_folder, shown_all, stored
from seqloom.settings.words import counted

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}


def read_images(folder: str, labelled: bool = True) -> Iterator[Rows]:
    """Its pictures are numbered from 1, by their names, in place of lines; messages name their files.

    Where one has colours, all are read in colours: grey ones lose nothing so.
    """
    there = files_in(folder)
    files = list(filter(is_picture, there))
    if not files:
        raise DataError(f"{folder}: no image in it{_instead(Path(folder), there)}")
    image = _package(folder)
    sizes = _Sizes()
    names = (inside(folder) + path.relative_to(folder).as_posix() for path in files)
    places = Places(files=dict(enumerate(names, 1)))
    mode = "RGB" if any(_mode(path, image) == "RGB" for path in files) else "L"
    pictures = _pictures(files, image, sizes, lambda path: _label(Path(folder), path, labelled), mode)
    yield from gathered(folder, pictures, lambda: sizes.read, places=places)


def read_picture_files(names: Sequence[str]) -> Iterator[Rows]:
    """Pictures one by one, without labels."""
    files, sizes = list(map(stored, names)), _Sizes()
    pictures = _pictures(files, _package(names[0]), sizes, lambda path: UNLABELLED)
    yield from gathered(shown_all(names), pictures, lambda: sizes.read, places=Places(files=dict(enumerate(names, 1))))


def is_picture(file: Path) -> bool:
    """By its name."""
    return file.suffix.lower() in ENDINGS


def all_pictures(names: Sequence[str]) -> bool:
    return all(is_picture(Path(name)) and not is_folder(name) for name in names)


def _instead(folder: Path, there: list[Path]) -> str:
    """What is in a folder without images, and how a command names it: a folder stands for images, or for music."""
    counts = Counter(_ending(path) for path in there)
    readable = Counter(_ending(path) for path in there if format_by_name(path.name) is not None)
    images = f"a folder for each class, with its images: {folder}/CLASS/1.png"
    if not counts:
        return f"; {images}"
    (first, count), *others = counts.most_common()
    kinds = f"{count:,} {f'of *{first}' if first else 'without an ending'}" + (
        f", {sum(other for _, other in others):,} of others" if others else ""
    )
    what = f", but {counted(len(there), 'file')} ({kinds})"
    if not readable:
        return f"{what}; {images}"
    pattern = f"*{readable.most_common(1)[0][0]}"
    matching = [path for path in there if path.match(pattern)]
    named = f"{quote(str(folder))}/{pattern}"
    if any(path.parent != folder for path in matching):
        named = f"$(find {quote(str(folder))} -name '{pattern}')"
        if any(" " in str(path) for path in matching):
            named += ", in names without spaces"
    return f"{what}; name the files, and not the folder: {named}"


def _ending(path: Path) -> str:
    """.txt, or .txt.gz."""
    return (Path(path.stem).suffix if compression(path.name) else "") + path.suffix


class _Sizes:
    read = 0


def _label(folder: Path, path: Path, labelled: bool) -> str:
    """The folder that it lies in."""
    parts = path.relative_to(folder).parts
    if labelled and len(parts) < 2:
        raise DataError(f"{path}: an image outside of a class's folder; put it into {folder / 'CLASS' / path.name}")
    return parts[0] if len(parts) > 1 else UNLABELLED


def _mode(path: Path, image: Any) -> str | None:
    """Grey (L) or in colours (RGB), by the head of its file; None: no picture."""
    try:
        with image.open(path) as picture:
            return "L" if picture.mode in ("1", "L", "LA", "I;16") else "RGB"
    except (OSError, SyntaxError, ValueError):  # told where it is read
        return None


def _pictures(
    files: list[Path], image: Any, sizes: _Sizes, label_of: Callable[[Path], str], mode: str | None = None
) -> Iterator[One]:
    """mode: of all; None: each has that of its file."""
    for number, path in enumerate(files, 1):
        label = label_of(path)
        sizes.read += path.stat().st_size
        try:
            with image.open(path) as picture:
                pixels = np.asarray(picture.convert(mode or _mode(path, image)), np.float32)
        except (OSError, SyntaxError, ValueError) as error:  # the package has no base for what can be wrong in a file
            yield broken(number, "no image", f"cannot be read ({error})", "mend the file, or remove it")
            continue
        yield One(number, pixels[..., None] if pixels.ndim == 2 else pixels, label)


def _package(name: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DataError(f"{name}: images need one more package: pip install 'seqloom[images]'") from None
    return Image
