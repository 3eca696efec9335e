"""Arrays of NumPy (.npz): all series or pictures in one array, their classes in another; nothing is unpickled.

values  of shape (series, steps) or (series, steps, channels); lengths, if there: how many steps of each are real
images  of shape (pictures, rows, columns) or (pictures, rows, columns, channels)
labels  whole numbers or texts, one for each
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seqloom.data.reading.block import Rows
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.series_rows import UNLABELLED, One, broken, gathered
from seqloom.data.reading.stored_file import shown, stored
from seqloom.data.settings import Corpus

VALUES, IMAGES, LABELS = (
    ("values", "series", "x", "X", "data"),
    ("images", "pixels"),
    ("labels", "label", "y", "targets"),
)


def read_npz(corpus: Corpus, labelled: bool = True) -> Iterator[Rows]:
    """Its series are numbered from 1, in place of lines."""
    name, path = shown(corpus.files[0]), stored(corpus.files[0])
    _refuse_other(name, path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield from _rows(name, arrays, corpus, labelled, path.stat().st_size)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "pickle" in str(error) or "Object arrays" in str(error):
            why = "an array of Python objects, which is not unpickled; save numbers, and unequal lengths as JSONL"
        raise DataError(f"{name}: cannot be read ({why}); save it with numpy.savez") from None


def _refuse_other(name: str, path: Path) -> None:
    """NumPy takes whatever it does not know for a pickle, and a file that is cut off for no file of its own."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PK\x03\x04" and not zipfile.is_zipfile(path):
        raise DataError(f"{name}: the file ends too early, or is damaged; copy it again, or save it again")
    if magic not in (b"PK\x03\x04", b"PK\x05\x06", b"\x93NUM"):
        what = "no NumPy file" if magic else "an empty file"
        raise DataError(f"{name}: {what}; save it with numpy.savez")


def _rows(name: str, arrays: Any, corpus: Corpus, labelled: bool, size: int) -> Iterator[Rows]:
    if not hasattr(arrays, "files"):
        raise ValueError("a single array, where values and labels are needed")
    values = _named(arrays, corpus.source, (*IMAGES, *VALUES), name, "values")
    labels = _named(arrays, corpus.target, LABELS, name, "labels") if labelled else None
    x = arrays[values]
    pictures = values in IMAGES or x.ndim == 4
    wanted = (3, 4) if pictures else (2, 3)
    if x.ndim not in wanted or x.dtype.kind not in "fiub":
        shape = "(pictures, rows, columns[, channels])" if pictures else "(series, steps[, channels])"
        raise DataError(f"{name}: {values} should be numbers of shape {shape}, but is {x.dtype} of shape {x.shape}")
    x = x[..., None] if x.ndim == wanted[0] else x
    y = np.full(len(x), UNLABELLED) if labels is None else arrays[labels]
    if y.shape != (len(x),):
        raise DataError(f"{name}: {labels} should have one for each of {len(x)}, but is of shape {y.shape}")
    lengths = arrays["lengths"] if "lengths" in arrays.files and not pictures else None
    if lengths is not None and (lengths.shape != (len(x),) or lengths.dtype.kind not in "iu"):
        raise DataError(f"{name}: lengths should be one whole number for each of {len(x)} series")
    yield from gathered(name, (_one(number, x, y, lengths) for number in range(len(x))), lambda: size)


def _one(number: int, x: Any, y: Any, lengths: Any) -> One:
    values, label = x[number], y[number].item()
    if isinstance(label, bytes):
        label = label.decode("utf-8", "replace")
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if lengths is not None:
        steps = int(lengths[number])
        if not 0 < steps <= len(values):
            return broken(
                number + 1, "an impossible length", f"a length of {steps}, where there are {len(values)} steps"
            )
        values = values[:steps]
    if np.isinf(values).any():
        return broken(number + 1, "no number", "an infinite reading", "mend it")
    return One(number + 1, values.astype(np.float32), label)


def _named(arrays: Any, wanted: str | None, usual: tuple[str, ...], name: str, what: str) -> str:
    found = wanted if wanted in arrays.files else next((one for one in usual if one in arrays.files), None)
    if found is None or (wanted is not None and wanted not in arrays.files):
        raise DataError(
            f"{name}: no array {wanted or what!r}; there are {', '.join(arrays.files) or 'none'}"
            + ("" if wanted else f" (usual names are {', '.join(usual)})")
        )
    return found
