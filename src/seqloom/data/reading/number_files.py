"""Files of pictures or of series of numbers, where a text is wanted: told by what they hold."""

import zipfile
from itertools import islice
from pathlib import Path

from seqloom.data.file_format import STDIN, format_by_name
from seqloom.data.reading.block import Shape
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.image_folder import is_picture
from seqloom.data.reading.numpy_file import IMAGES
from seqloom.data.reading.stored_file import is_folder, shown

LOOKED_AT = 1000  # files of a folder, of which most are then pictures
PICTURES, SERIES = "pictures", "series of numbers"
_RECIPES = {PICTURES: ("image-classifier", "images"), SERIES: ("motion-classifier", "vectors")}
_READS: dict[Shape, str] = {"classes": "texts and their classes"}


def numbers_in(name: str) -> str | None:
    """What a file or a folder of numbers holds; None: it is none, by its name."""
    if name != STDIN and is_folder(name):
        first = list(islice((path for path in Path(name).rglob("*") if path.is_file()), LOOKED_AT))
        return PICTURES if 2 * sum(map(is_picture, first)) > len(first) else None
    if name == STDIN or format_by_name(name) != "npz":
        return PICTURES if name != STDIN and is_picture(Path(name)) else None
    return PICTURES if _arrays(name) & set(IMAGES) else SERIES


def refuse_numbers(name: str, shape: Shape, found: str) -> DataError:
    """found: what it holds, where the task reads another shape."""
    recipe, kind = _RECIPES[found]
    own = f", or set task.reads = 'series' and model.input.kind = '{kind}'" if shape == "classes" else ""
    what = f"{shown(name)}: holds {found}, but this task reads {_READS.get(shape, shape)}"
    return DataError(f"{what}; take a recipe such as {recipe}{own}")


def _arrays(name: str) -> set[str]:
    try:
        with zipfile.ZipFile(name) as archive:
            return {Path(one).stem for one in archive.namelist()}
    except (OSError, zipfile.BadZipFile):  # which whoever reads it tells
        return set()
