"""What a trained forecaster says: of windows, and of what comes after a file's end."""
# B windows  H horizon  C targets  Q mean and quantiles  T steps

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import torch

from seqloom.data.cache import Examples
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.lines import Stream
from seqloom.data.series.table import Series, SeriesTable, missing, read_table
from seqloom.data.series.timestamps import Times, TimeStyle
from seqloom.data.series.windows import Windows, nearest
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question, Scored
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.corpora.series import refuse_other, wanted_of
from seqloom.models.build import Model as Network
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks.forecast import ForecastTask, levels_of, shown_levels
from seqloom.tasks.scales import Scale

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """Of one series, in its own units.

    said_HCQ: the mean of each value, then its quantiles. before_TC: what went before; came_HC: what came, if it did.
    """

    series: str
    columns: tuple[str, ...]
    levels: tuple[float, ...]
    times: tuple[str, ...]
    times_H: Times
    said_HCQ: Floats
    times_T: Times
    before_TC: Floats
    came_HC: Floats | None = None

    @property
    def mean(self) -> Floats:
        return self.said_HCQ[..., 0]

    def quantile(self, level: float) -> Floats:
        if level not in self.levels:
            raise UserError(
                f"there is no quantile {level:g}; the model was trained for {shown_levels(self.levels)} "
                "(model.output.quantiles)"
            )
        return self.said_HCQ[..., 1 + self.levels.index(level)]


class Forecaster:
    """networks: several forecast together, by the mean of what they say. task: of the one that looks back furthest."""

    def __init__(self, tasks: Sequence[ForecastTask], networks: Sequence[Network], device: torch.device) -> None:
        """tasks: of each network."""
        self.tasks, self.networks, self.device = tasks, networks, device
        self.task = max(tasks, key=lambda task: task.settings.look_back)
        self.levels = levels_of(networks[0])

    @torch.no_grad()
    def z_scores(self, examples: Examples) -> Floats:
        """said_BHCQ"""
        each = []
        for task, network in zip(self.tasks, self.networks, strict=True):
            batch = task.batch(nearest(examples, self.task.frame, task.frame)).to(self.device)
            each.append(task.run(network.eval(), batch)[0])
        return torch.stack(each).mean(0).double().cpu().numpy()

    def own_units(self, z_HCQ: Floats, scale: Scale) -> Floats:
        return z_HCQ * np.array(scale.deviation_C)[:, None] + np.array(scale.mean_C)[:, None]

    def window(self, series: Series, start: int) -> tuple[Examples, Scale]:
        """What is read to say what comes from a step on, and how it is scaled."""
        scales = self.task.scales
        scale, _ = scales.scale_of(series, start)
        window = Windows([scales.scaled(series, scale)], np.array([0]), np.array([start]), self.task.frame)
        return window.read([0])[0], scale

    def at(self, series: Series, start: int, style: TimeStyle) -> Forecast:
        """What comes from a step on; what is known of the steps from there must be in the series."""
        scales, frame = self.task.scales, self.task.frame
        examples, scale = self.window(series, start)
        said_HCQ = self.own_units(self.z_scores(examples)[0], scale)
        ahead = slice(start, start + frame.horizon)
        came_HC = series.values_TC[ahead, : scales.targets]
        return Forecast(
            series.name,
            scales.columns.targets,
            self.levels,
            tuple(style.write(series.times_T[ahead])),
            series.times_T[ahead],
            said_HCQ,
            series.times_T[:start],
            series.values_TC[:start, : scales.targets],
            None if np.isnan(came_HC).all() else came_HC,
        )

    def after(self, table: SeriesTable) -> Iterator[Forecast]:
        """What comes behind the end of each series."""
        for series in table.series:
            longer, start = self.with_future(series)
            yield self.at(longer, start, table.style)

    def with_future(self, series: Series) -> tuple[Series, int]:
        """With the horizon's steps behind it, and where these begin."""
        scales, (L, H) = self.task.scales, (self.task.settings.look_back, self.task.settings.horizon)
        known = len(scales.columns.known)
        start = len(series.past(scales.targets))
        of = f"{series.name!r}: " if series.name else ""
        if start < L:
            raise DataError(
                f"{series.file}: {of}{counted(start, 'step')}, but the model looks back {L}; give more of it"
            )
        if known and len(series) - start < H:
            have, targets = len(series) - start, ", ".join(scales.columns.targets[:3])
            raise DataError(
                f"{series.place(start - 1)}: {of}{', '.join(scales.columns.known)} must be known for {H} steps after "
                f"this one, and is for {have}; add rows with their times and these columns, and leave {targets} empty"
            )
        missing = max(0, start + H - len(series))
        times = scales.frequency.after(series.times_T[start - 1], np.arange(1, H + 1))
        values_TC = np.pad(series.values_TC, ((0, missing), (0, 0)), constant_values=np.nan)
        longer = replace(
            series,
            times_T=np.concatenate((series.times_T[:start], times, series.times_T[start + H :])),
            values_TC=values_TC,
            lines_T=np.pad(series.lines_T, (0, missing), mode="edge"),
        )
        return longer, start

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        self._refuse()

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool = False
    ) -> Iterator[tuple[int, list[Answer]]]:
        self._refuse()

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UserError(
            "this model forecasts series, and reads no text: model.forecast('series.csv'), or predict RUN FILE"
        )


def read_asked(task: ForecastTask, file: str, run: str, stream: Stream | None = None) -> tuple[SeriesTable, list[str]]:
    """A file to forecast or to be evaluated on, read as training's was; and what should be known of it.

    stream: what is read instead, and called as the file.
    """
    scales = task.scales
    table = read_table(file, wanted_of(task.settings, scales.columns), stream)
    refuse_other(table, scales.columns, None, run)
    if table.frequency is not None and table.frequency != scales.frequency:
        raise UserError(
            f"{table.file}: its steps are {table.frequency.name} apart, those that {run} learnt from "
            f"{scales.frequency.name}; resample it"
        )
    # what is still to come is not missing
    past = [series.past(scales.targets) for series in table.series]
    notes = list(missing(past, table.columns, table.file, "masked"))
    strange = [series.name for series in table.series if not scales.scale_of(series)[1]]
    if strange:
        shown = ", ".join(map(repr, strange[:5])) + (", …" if len(strange) > 5 else "")
        notes.append(f"{table.file}: not in training, so scaled by their own values: {shown}")
    if not scales.gaps and any(np.isnan(series.values_TC[:, : scales.targets]).any() for series in past):
        notes.append(f"{table.file}: values are missing, and training had none missing: read as their window's mean")
    return table, notes
