"""Real-valued readings → numbers that a model can take: scaled as the training data says, gaps filled."""
# T steps  C channels (readings at each step)  M channels that the model reads

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from seqloom.data.picture_size import scaled
from seqloom.data.ragged import Ragged
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import LARGEST
from seqloom.settings import Frozen, UserError
from seqloom.settings.words import counted
from seqloom.text import json_file

Floats = npt.NDArray[np.floating[Any]]
_WHAT = "the scales of readings"
Side = Annotated[int, Field(ge=1)]
COLOURS = 3
_BRIGHTNESS = np.array(
    [0.299, 0.587, 0.114]
)  # of red, green and blue (ITU-R BT.601), as files of grey pictures have it


class ReadingsSettings(Frozen):
    """How real-valued readings become numbers of a model. What is fitted is fitted on training examples alone."""

    scale: Literal["standard", "series", "none"] = Field(
        default="standard",
        description="standard: each channel by its mean and deviation in training; series: by those of its own series; "
        "none: as they are",
    )
    missing: Literal["refuse", "mean", "previous", "mark"] = Field(
        default="refuse",
        description="a reading that is not there: a fault of the data; or filled with the mean, or with the one before "
        "it; mark: the mean, and each channel has one more beside it that is 1 where it is missing",
    )
    size: tuple[Side, Side] | None = Field(
        default=None, description="rows and columns that pictures are scaled to; unset: all must be of one size"
    )


@dataclass(frozen=True)
class Form:
    """What all series of a model have in common. columns: of pictures, pixels of a line. gaps: readings may miss.

    size: rows and columns that pictures are scaled to, if they are.
    """

    names: tuple[str, ...]
    columns: int | None = None
    gaps: bool = False
    size: tuple[int, int] | None = None

    @classmethod
    def of(cls, x: Floats, names: Sequence[str], settings: ReadingsSettings) -> "Form":
        """names: of the channels, if anything names them."""
        size = settings.size if x.ndim == 3 else None
        columns = x.shape[1] if x.ndim == 3 else None
        names = tuple(names) or tuple(map(str, range(1, x.shape[-1] + 1)))
        return cls(names, size[1] if size else columns, settings.missing != "refuse", size)

    def fitted(self, x: Floats) -> Floats:
        """A picture in the form's size, and in its colours: grey ones where these are read, and the other way round."""
        if x.ndim != 3 or self.columns is None:
            return x
        if self.size is not None and x.shape[:2] != self.size:
            x = scaled(x, self.size)
        match x.shape[-1], len(self.names):
            case 1, 3:
                return np.repeat(x, COLOURS, -1)
            case 3, 1:
                return np.round(x @ _BRIGHTNESS)[..., None].astype(x.dtype)
            case _:
                return x

    def misfit(self, x: Floats) -> Broken | None:
        """Why a series is not of this form; None: it is."""
        if x.shape[-1] != len(self.names):
            what = f"{counted(x.shape[-1], 'reading')} at each step, but {len(self.names)} are expected"
            return Broken("another number of readings", what, "mend the data")
        columns = x.shape[1] if x.ndim == 3 else None
        if columns != self.columns:
            what = f"{_said(columns)}, but {_said(self.columns)} is expected"
            fix = "scale it, or train with --set readings.size=[ROWS,COLUMNS], which scales all"
            return Broken("another size of picture", what, fix)
        gap = self.gap(x)
        if gap is not None:
            what = f"step {gap[0] + 1} has no reading of channel {self.names[gap[1]]}"
            taken = "a run that is trained with --set readings.missing=mean (or previous, mark) takes it"
            return Broken("a reading is missing", what, f"fill it in; {taken}")
        large = first_too_large(x)
        if large is not None:
            what = f"step {large[0] + 1} has {steps_of(x)[large]:g}, beyond {LARGEST:g}, of channel"
            return Broken("too large a number", f"{what} {self.names[large[1]]}", "give the channel in another unit")
        return None

    def gap(self, x: Floats) -> tuple[int, int] | None:
        """The first step that lacks a reading, and the channel, where none may."""
        return None if self.gaps else _first(np.isnan(steps_of(x)))

    def odd_step(self, x: Floats) -> tuple[int, int] | None:
        """The step and the channel that a misfit is about, if it is about one."""
        return None if x.shape[-1] != len(self.names) else self.gap(x) or first_too_large(x)


def first_too_large(x: Floats) -> tuple[int, int] | None:
    """The first step with a number that nothing can be learnt from, and its channel."""
    return _first(np.abs(steps_of(x)) > LARGEST) if np.issubdtype(x.dtype, np.floating) else None


def _first(odd_TC: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    if not odd_TC.any():
        return None
    step, channel = np.argwhere(odd_TC)[0].tolist()
    return step, channel


def _said(columns: int | None) -> str:
    return "a series" if columns is None else f"a picture of {columns} columns"


@dataclass(frozen=True)
class Readings:
    """names: of the channels. mean_C, deviation_C: what is taken away from each and what it is divided by.

    columns: of pictures, whose steps are their pixels line by line: how many a line has.
    """

    settings: ReadingsSettings
    names: tuple[str, ...]
    mean_C: tuple[float, ...]
    deviation_C: tuple[float, ...]
    columns: int | None = None

    @classmethod
    def train(
        cls, settings: ReadingsSettings, series: Iterable[Floats], names: Sequence[str] = (), columns: int | None = None
    ) -> "Readings":
        """Means and deviations over all steps of all series; what is missing does not count."""
        counted = _Moments()
        for x_TC in series:
            counted.add(x_TC)
        if counted.count_C is None:
            raise UserError("there are no readings to learn from; give examples that have some")
        fitted = settings.scale == "standard"
        mean_C = counted.mean_C if fitted else np.zeros_like(counted.mean_C)
        # a channel that never changes tells nothing, and must not become the noise of its rounding
        spread_C = np.where(counted.deviation_C > 1e-12 * np.abs(counted.mean_C), counted.deviation_C, 1.0)
        deviation_C = spread_C if fitted else np.ones_like(spread_C)
        names = tuple(names) or tuple(map(str, range(1, len(mean_C) + 1)))
        return cls(settings, names, tuple(mean_C.tolist()), tuple(deviation_C.tolist()), columns)

    @property
    def form(self) -> Form:
        size = None if self.columns is None else self.settings.size
        return Form(self.names, self.columns, self.settings.missing != "refuse", size)

    @property
    def channels(self) -> int:
        """That a model reads at each step."""
        return len(self.names) * (2 if self.settings.missing == "mark" else 1)

    def __len__(self) -> int:
        return self.channels

    def encode(self, series: Sequence[Floats]) -> Ragged:
        return Ragged.series([self._encoded(steps_of(x)) for x in series], self.channels)

    def _encoded(self, x_TC: Floats) -> Floats:
        x_TC = (np.asarray(x_TC, np.float64) - self.mean_C) / self.deviation_C
        missing_TC = np.isnan(x_TC)
        if self.settings.scale == "series":
            x_TC = _by_itself(x_TC)
        if self.settings.missing == "previous":
            x_TC = _carried(x_TC)
        x_TC = np.where(np.isnan(x_TC), 0.0, x_TC)
        return np.concatenate([x_TC, missing_TC], 1) if self.settings.missing == "mark" else x_TC

    def decode(self, x_TM: Floats) -> Floats:
        """The readings that numbers of a model stand for, as far as the scale is not each series' own."""
        x_TC = np.asarray(x_TM, np.float64)[:, : len(self.names)] * self.deviation_C + self.mean_C
        rounding_C = 1e-6 * np.abs(self.mean_C)  # what single precision leaves of a 0
        return np.where(np.abs(x_TC) < rounding_C, 0.0, x_TC)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self._kept(), sort_keys=True).encode()).hexdigest()

    def _kept(self) -> dict[str, Any]:
        return asdict(self) | {"settings": self.settings.model_dump(mode="json")}

    def save(self, path: str | Path) -> None:
        json_file.write(Path(path), json.dumps(self._kept(), indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Readings":
        file = Path(path)
        kept = json_file.parse(file, _WHAT)
        try:
            read = cls(
                ReadingsSettings.model_validate_json(json.dumps(kept["settings"])),  # in JSON a list is a tuple, too
                tuple(map(str, kept["names"])),
                tuple(map(float, kept["mean_C"])),
                tuple(map(float, kept["deviation_C"])),
                kept["columns"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise json_file.broken(file, _WHAT, f"{type(error).__name__}: {error}".splitlines()[0]) from None
        if not len(read.names) == len(read.mean_C) == len(read.deviation_C) or not all(read.deviation_C):
            raise json_file.broken(file, _WHAT, "each channel needs a mean and a deviation above 0")
        return read


def series_text(x: Floats, columns: int | None = None) -> str:
    """A series in a few words, to see whether it is what was meant."""
    x_TC = steps_of(x)
    columns = x.shape[1] if x.ndim == 3 else columns
    first = ", ".join(f"{value:.4g}" for value in x_TC[:1].flatten()[:3].tolist())
    more = ", …" if x_TC[:1].size > 3 else ""
    size = f"{len(x_TC)} steps" if columns is None else f"{len(x_TC) // columns} × {columns} pixels"
    return f"{size} of {counted(x_TC.shape[1], 'reading')}: {first}{more}" if len(x_TC) else "0 steps"


class _Moments:
    """Mean and deviation of each channel, block by block (Chan et al. 1979): large numbers lose no digits."""

    def __init__(self) -> None:
        self.count_C: Floats | None = None

    def add(self, x: Floats) -> None:
        x_TC = np.asarray(steps_of(x), np.float64)
        if self.count_C is None:
            self.count_C, self.mean_C, self.squares_C = (np.zeros(x_TC.shape[1]) for _ in range(3))
        there_TC = ~np.isnan(x_TC)
        count_C = there_TC.sum(0)
        mean_C = np.where(there_TC, x_TC, 0).sum(0) / np.maximum(count_C, 1)
        squares_C = np.square(np.where(there_TC, x_TC - mean_C, 0)).sum(0)
        total_C, apart_C = self.count_C + count_C, mean_C - self.mean_C
        share_C = count_C / np.maximum(total_C, 1)
        self.squares_C = self.squares_C + squares_C + apart_C**2 * self.count_C * share_C
        self.mean_C, self.count_C = self.mean_C + apart_C * share_C, total_C

    @property
    def deviation_C(self) -> Floats:
        assert self.count_C is not None
        return np.asarray(np.sqrt(self.squares_C / np.maximum(self.count_C, 1)))


def steps_of(x: Floats) -> Floats:
    """A picture, x_RCC, is read pixel by pixel."""
    return x.reshape(-1, x.shape[-1]) if x.ndim == 3 else x


def _by_itself(x_TC: Floats) -> Floats:
    moments = _Moments()
    moments.add(x_TC)
    deviation_C = moments.deviation_C
    return (x_TC - moments.mean_C) / np.where(deviation_C > 1e-12 * np.abs(moments.mean_C), deviation_C, 1.0)


def _carried(x_TC: Floats) -> Floats:
    """Where a reading is missing, the last one before it that is not."""
    at_TC = np.where(np.isnan(x_TC), 0, np.arange(len(x_TC))[:, None])
    last_TC = np.maximum.accumulate(at_TC, 0)
    return np.take_along_axis(x_TC, last_TC, 0) if len(x_TC) else x_TC
