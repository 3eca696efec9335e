"""A folder with a folder of images for each class, read with the extra `images`.

digits/3/a.png, digits/3/b.png, digits/7/c.png: two pictures of a 3 and one of a 7
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.data.reading.block import Rows
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.series_rows import UNLABELLED, One, broken, gathered
from seqloom.data.reading.stored_file import files_in

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}


def read_images(folder: str, labelled: bool = True) -> Iterator[Rows]:
    """Its pictures are numbered from 1, by their names, in place of lines. Grey or coloured, as the first is."""
    image = _package(folder)
    files = [path for path in files_in(folder) if path.suffix.lower() in ENDINGS]
    if not files:
        raise DataError(f"{folder}: no image in it; a folder for each class, with its images: {folder}/CLASS/1.png")
    sizes = _Sizes()
    yield from gathered(folder, _pictures(Path(folder), files, image, labelled, sizes), lambda: sizes.read)


class _Sizes:
    read = 0


def _pictures(folder: Path, files: list[Path], image: Any, labelled: bool, sizes: _Sizes) -> Iterator[One]:
    mode: str | None = None
    for number, path in enumerate(files, 1):
        inside = path.relative_to(folder).parts
        if labelled and len(inside) < 2:
            raise DataError(f"{path}: an image outside of a class's folder; put it into {folder / 'CLASS' / path.name}")
        sizes.read += path.stat().st_size
        try:
            with image.open(path) as picture:
                mode = mode or ("L" if picture.mode in ("1", "L", "LA", "I;16") else "RGB")
                pixels = np.asarray(picture.convert(mode), np.float32)
        except (OSError, SyntaxError, ValueError) as error:  # the package has no base for what can be wrong in a file
            yield broken(number, "no image", f"{path}: cannot be read ({error})", "mend the file, or remove it")
            continue
        label = inside[0] if len(inside) > 1 else UNLABELLED
        yield One(number, pixels[..., None] if pixels.ndim == 2 else pixels, label)


def _package(name: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DataError(f"{name}: images need one more package: pip install 'seqloom[images]'") from None
    return Image
