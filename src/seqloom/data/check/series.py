"""What series of readings show by themselves."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from seqloom.data.check.tally import OR_SKIP, Kind
from seqloom.data.reading.numbers import LARGEST
from seqloom.data.readings import COLOURS, Floats, ReadingsSettings, first_too_large, steps_of

AS_THEY_ARE = ReadingsSettings()

_OTHER = Kind(
    "fault",
    "values: another number of readings at each step than the first has",
    f"bring all to the same channels, {OR_SKIP}",
)
_WIDE = Kind(
    "fault",
    "values: a picture of another width than the first has",
    f"scale all to one size: --set readings.size=[ROWS,COLUMNS], {OR_SKIP}",
)
_GAPS = Kind(
    "fault",
    "values: readings are missing",
    f"training stops there, unless readings.missing says what stands for them: --set readings.missing=mean, {OR_SKIP}",
)
_LARGE = Kind("fault", f"values: readings beyond {LARGEST:g}", f"give them in another unit, {OR_SKIP}")
_FILLED = Kind("note", _GAPS.title, "they are filled as readings.missing says")
_STILL = Kind("note", "values: nothing changes from the first step to the last", "look whether a sensor was off")


class SeriesLook:
    """Compares all series with the first."""

    def __init__(self, readings: ReadingsSettings = AS_THEY_ARE) -> None:
        self._gaps, self._size = readings.missing != "refuse", readings.size
        self._form: tuple[int, int | None] | None = None

    def steps(self, series: Sequence[Floats]) -> np.ndarray:
        """How many each has, as it is read."""
        pixels = None if self._size is None else self._size[0] * self._size[1]
        return np.array([len(steps_of(x)) if x.ndim != 3 else pixels or len(steps_of(x)) for x in series], np.int64)

    def odd(self, series: Sequence[Floats]) -> dict[Kind, list[int]]:
        """Where each oddity is."""
        found: dict[Kind, list[int]] = {}
        for at, x in enumerate(series):
            for kind in self._kinds(x):
                found.setdefault(kind, []).append(at)
        return found

    def _kinds(self, x: Floats) -> Iterator[Kind]:
        channels, columns = x.shape[-1], x.shape[1] if x.ndim == 3 else None
        if columns is not None:  # grey ones are read in colours, where there are such
            channels = COLOURS if channels == 1 else channels
            columns = columns if self._size is None else self._size[1]
        self._form = self._form or (channels, columns)
        if channels != self._form[0]:
            yield _OTHER
        elif columns != self._form[1]:
            yield _WIDE
        gaps = np.isnan(x)
        if gaps.any():
            yield _FILLED if self._gaps else _GAPS
        if first_too_large(x):
            yield _LARGE
        x_TC = steps_of(x)
        if len(x_TC) > 1 and (x_TC == x_TC[:1]).all():
            yield _STILL


def contents(series: Iterable[Floats]) -> list[str]:
    """Two are equal if and only if the series are; grey pictures also where they are read in colours."""
    return [f"{x.shape}{np.asarray(x, np.float64).tobytes().decode('latin-1')}" for x in map(_grey, series)]


def _grey(x: Floats) -> Floats:
    return x[..., :1] if x.ndim == 3 and x.shape[-1] == COLOURS and (x == x[..., :1]).all() else x
