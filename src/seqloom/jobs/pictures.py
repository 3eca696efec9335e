"""Pictures as text: which numbers a model knows, and the refusal of all others, which would else be black."""

from collections.abc import Sequence

import numpy as np

from seqloom.data.cache import Cache
from seqloom.layers.images import Images
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.text import UNKNOWN


def pixels(model: ModelSettings) -> str:
    """All whole numbers that a pixel may have, whether training sees them or not; "" where no picture is read."""
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
