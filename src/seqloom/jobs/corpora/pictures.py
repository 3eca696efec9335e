"""Pictures as text: which numbers a model knows, and the refusal of all others, which would else be black."""

from collections.abc import Sequence

import numpy as np

from seqloom.data.cache import Cache
from seqloom.data.readings import Readings
from seqloom.layers.images import Images
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.text import UNKNOWN


def refuse_other_form(model: ModelSettings, readings: Readings) -> None:
    """A UserError if the pictures are not as wide, or not of so many channels, as the model's input takes them for."""
    if not isinstance(model.input, Images):
        return
    for name, wanted, found in (
        ("channels", model.input.channels, readings.channels),
        ("columns", model.input.columns, readings.columns or model.input.columns),
    ):
        if wanted != found:
            raise UserError(
                f"model.input.{name} = {wanted}, but the pictures have {found}; --set model.input.{name}={found}"
            )


def pixels(model: ModelSettings) -> str:
    """All whole numbers that a pixel of a text may have, whether training sees them or not; "" where none is read."""
    return " ".join(map(str, range(int(model.input.brightest) + 1))) if isinstance(model.input, Images) else ""


def refuse_unknown(model: ModelSettings, ids: Sequence[int], text: str) -> None:
    """A UserError if a pixel of a picture, given as it is read and as it stands there, is none that is known."""
    if isinstance(model.input, Images) and UNKNOWN in ids:
        words = text.split()
        place = list(ids).index(UNKNOWN)
        raise UserError(
            _message(f"pixel {place + 1}, {words[place]!r}," if place < len(words) else "a pixel", model.input)
        )


def refuse_unknown_in(model: ModelSettings, name: str, *caches: Cache | None) -> None:
    """The same of whole files. name: of the corpus."""
    if not isinstance(model.input, Images):
        return
    for cache in filter(None, caches):
        for chunk in range(len(cache.rows)):
            (examples,) = cache.read([chunk])
            source = examples.columns["source"]
            places = np.flatnonzero(source.values_N == UNKNOWN)
            if len(places):
                row = int(np.searchsorted(source.starts, places[0], side="right")) - 1
                pixel = places[0] - source.starts[row] + 1
                raise UserError(f"{name}:{examples.line_B[row]}: {_message(f'pixel {pixel}', model.input)}")


def _message(what: str, images: Images) -> str:
    return (
        f"{what} is no number that the model knows; write whole numbers from 0 to {images.brightest:g} "
        "(model.input.brightest), with spaces between them"
    )
