"""Lines of numbers → series: forecasts of any systems, what came true, and what had been before.

One series a line; steps with spaces, tabs or commas between them. A forecast that is a distribution has several values
a step: samples `2.9|3.1|3.4`, or quantiles with their levels `0.1:2.9|0.5:3.1|0.9:3.4`.
"""
# S samples or quantiles  T steps

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seqloom.data.reading.faults import DataError
from seqloom.evaluation.build import SERIES, MetricName, SeriesMetric, series_metric
from seqloom.evaluation.report import Counts
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.settings import UserError
from seqloom.settings.words import counted

Values = NDArray[np.float64]
Levels = tuple[float, ...] | None

_BETWEEN = re.compile(r"[ \t]*,[ \t]*|[ \t]+")


@dataclass(frozen=True)
class _Read:
    """said: of each system, each line's forecast_ST. levels: of quantiles; None: samples, one of them alone too."""

    said: list[list[Values]]
    levels: Levels
    wanted: list[Values]


def with_series(
    what: Evaluated,
    names: Sequence[MetricName],
    settings: EvaluationSettings,
    history: tuple[str, Sequence[str]] | None,
    note: Callable[[str], None],
) -> Evaluated:
    """Counted by those of the metrics that are of series, if any is. history: its file's name, and its lines."""
    ours = [name for name in SERIES if name in names]
    if history is not None and "mase" not in ours:
        raise UserError("--history is the past of series, which only --metrics mase needs; leave it out")
    if not ours:
        return what
    if len(what.references) != 1:
        raise UserError(f"--metrics {ours[0]}: a series has one reference, not {len(what.references)}")
    if "mase" in ours and history is None:
        raise UserError("--metrics mase: name the past of the series with --history FILE, line n that of line n")
    read = _read(what)
    past = [] if history is None else _past(history, settings.season, note)
    counts = tuple(_counts(name, read, past, what, settings) for name in ours)
    return replace(what, counts=(*what.counts, *counts), steps=[len(one) for one in read.wanted])


def _counts(
    name: SeriesMetric, read: _Read, past: list[Values], what: Evaluated, settings: EvaluationSettings
) -> Counts:
    metric = series_metric(name, settings, read.levels)
    references = [read.wanted, past] if name == "mase" else [read.wanted]
    said = read.said if name == "crps" else [_points(*one, name) for one in zip(read.said, what.files, strict=False)]
    stats = tuple(metric.statistics(each, references) for each in said)
    if not stats[0][:, 1].sum():
        raise UserError(f"--metrics {name}: nothing can be counted: no reference has a value, or no history changes")
    return Counts(metric, stats)


def _points(forecasts: Sequence[Values], file: str, name: str) -> list[Values]:
    """One value a step."""
    for row, said_ST in enumerate(forecasts, 1):
        if len(said_ST) > 1:
            raise DataError(
                f"{file}:{row}: {len(said_ST)} values a step, but {name} takes one; --metrics crps takes all"
            )
    return [said_ST[0] for said_ST in forecasts]


def _past(history: tuple[str, Sequence[str]], season: int, note: Callable[[str], None]) -> list[Values]:
    file, texts = history
    past = [_line(text, file, row) for row, text in enumerate(texts, 1)]
    for row, one in enumerate(past, 1):
        if len(one) <= season:
            have = counted(len(one), "value")
            raise DataError(f"{file}:{row}: {have}, but a season of {season} (evaluation.season) needs more")
    still = sum(bool((one[season:] == one[:-season]).all()) for one in past)
    if still:
        note(f"MASE leaves out {still:,} of {len(past):,} series, whose history never changes: there is no scale")
    return past


def _read(what: Evaluated) -> _Read:
    *systems, reference = what.files
    wanted = [_line(text, reference, row, missing=True) for row, text in enumerate(what.references[0], 1)]
    found = [
        [_forecast(text, file, row) for row, text in enumerate(texts, 1)]
        for file, texts in zip(systems, what.answers, strict=True)
    ]
    levels = found[0][0][0]
    for file, forecasts in zip(systems, found, strict=True):
        for row, ((own, said_ST), goal_T) in enumerate(zip(forecasts, wanted, strict=True), 1):
            if own != levels:
                raise DataError(
                    f"{file}:{row}: {_told(own)}, but {systems[0]}:1 has {_told(levels)}; all need the same"
                )
            if said_ST.shape[1] != len(goal_T):
                steps = counted(said_ST.shape[1], "step")
                raise DataError(f"{file}:{row}: a forecast of {steps}, but {reference}:{row} has {len(goal_T)}")
    return _Read([[said_ST for _, said_ST in forecasts] for forecasts in found], levels, wanted)


def _told(levels: Levels) -> str:
    return "values without levels" if levels is None else f"quantiles at {', '.join(f'{one:g}' for one in levels)}"


def _line(text: str, file: str, row: int, missing: bool = False) -> Values:
    return np.array([_number(step, f"{file}:{row}", missing) for step in _steps(text, f"{file}:{row}")])


def _forecast(text: str, file: str, row: int) -> tuple[Levels, Values]:
    """Its levels, in their order, and forecast_ST."""
    place = f"{file}:{row}"
    steps = [_step(step, place) for step in _steps(text, place)]
    levels, first = steps[0]
    if any(own != levels or len(values) != len(first) for own, values in steps):
        raise DataError(f"{place}: all steps of a series need as many values, at the same levels")
    return levels, np.array([values for _, values in steps]).T


def _step(text: str, place: str) -> tuple[Levels, list[float]]:
    parts = [part.rpartition(":") for part in text.split("|")]
    values = [_number(value, place) for _, _, value in parts]
    if not any(colon for _, colon, _ in parts):
        return None, values
    if not all(colon for _, colon, _ in parts):
        raise DataError(f"{place}: {text}: all values of a step have a level, or none has")
    levels = [_number(level, place) for level, _, _ in parts]
    if len(set(levels)) < len(levels) or not all(0 < level < 1 for level in levels):
        raise DataError(f"{place}: {text}: the levels of quantiles lie between 0 and 1, each once")
    ordered = sorted(zip(levels, values, strict=True))
    return tuple(level for level, _ in ordered), [value for _, value in ordered]


def _steps(text: str, place: str) -> list[str]:
    if not text.strip():
        raise DataError(f"{place}: empty; a series needs a number at least")
    return _BETWEEN.split(text.strip())


def _number(text: str, place: str, missing: bool = False) -> float:
    """missing: nan may stand for a value that nobody knows."""
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if math.isinf(value) or (math.isnan(value) and not missing):
        fix = "; nan stands for a value that is missing" if missing else ""
        raise DataError(f"{place}: {text!r} is no number{fix}")
    return value
