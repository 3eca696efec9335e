"""A forecaster over all windows of a test, one step apart; its errors in blocks of windows."""
# B windows  H horizon  C targets  Q mean and quantiles

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from seqloom.data.reading import fingerprint
from seqloom.data.series.windows import CHUNK, Windows
from seqloom.data.settings import Corpus, DataSettings
from seqloom.evaluation.build import named
from seqloom.evaluation.rolling import ROLLING, Rolling, RollingMetric
from seqloom.jobs.answering.forecasting import Floats, Forecaster, read_asked
from seqloom.jobs.corpora.series import Part, file_of, parts_of, seen_of, windows_of
from seqloom.jobs.learning.request import data_of
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.store import RunFolder
from seqloom.tasks.forecast import ForecastTask, shown_levels
from seqloom.tasks.scales import Scale

Errors = dict[str, list[list[float]]]
"""By metric: of each block, the sum of the errors and how many they are."""

Kept = Literal["test", "valid"]

FEW = 10  # blocks; from fewer, an interval says little


@dataclass(frozen=True)
class Test:
    """What is forecast: a window at each step. blocks: a name for each block of windows that are counted together."""

    windows: Windows
    parts: tuple[Part, ...]
    block_N: np.ndarray
    blocks: list[str]
    notes: list[str] = field(default_factory=list)


OF_QUANTILES: tuple[RollingMetric, ...] = ("crps", "coverage")


def rolling_metrics(levels: Sequence[float], asked: Sequence[str]) -> list[RollingMetric]:
    quantiles = OF_QUANTILES if len(levels) > 1 else ()
    usual = ("mse", "mae", *quantiles[:1], "mase", "mae-units", *quantiles[1:])
    found: list[RollingMetric] = named(asked or usual, ROLLING, "forecasts")
    for name in OF_QUANTILES:
        if name in found and len(levels) < 2:
            raise UserError(
                f"--metrics {name}: the model says no quantiles; train it with some (model.output.quantiles)"
            )
    return found


def shared_metrics(levels: Sequence[tuple[str, Sequence[float]]], asked: Sequence[str]) -> list[RollingMetric]:
    """Of several runs; levels: of the quantiles that each says. Scores of other quantiles are no scores of the same."""
    names = rolling_metrics(max((each for _, each in levels), key=len), asked)
    needed = [name for name in names if name in OF_QUANTILES]
    (first, own), *others = levels
    for run, other in others:
        if needed and tuple(other) != tuple(own):
            rest = [name for name in names if name not in needed] or rolling_metrics((), ())
            raise UserError(
                f"{run}: says other quantiles ({shown_levels(other)}) than {first} ({shown_levels(own)}), and "
                f"{' and '.join(needed)} would be of them; count what needs none: --metrics {' '.join(rest)}"
            )
    return names


def metric_of(name: RollingMetric, forecasters: Sequence[Forecaster]) -> Rolling:
    """Of forecasters that may look back unlike far."""
    first = forecasters[0]
    settings, scales, levels = first.task.settings, first.task.scales, first.levels
    back = "/".join(dict.fromkeys(str(one.task.settings.look_back) for one in forecasters))
    how = f"look-back:{back}|horizon:{settings.horizon}|every:1|blocks:{settings.horizon}"
    match name:
        case "mase":
            how += f"|season:{scales.season}"
        case "crps":
            how += f"|by:{len(levels)} quantiles"
        case "coverage":
            how += f"|from:{levels[0]:g} to {levels[-1]:g}"
        case _:
            pass
    return Rolling(name, how)


def test_of(task: ForecastTask, corpora: Sequence[Corpus], run: RunFolder, part: Kept) -> Test:
    """Of a file that was trained on, the part behind: its test, or its validation where that is asked for or all."""
    parts, notes = list[Part](), list[str]()
    learnt = set(data_of(run).values())
    for corpus in corpora:
        if learnt and fingerprint(corpus) in learnt:
            own, note = _kept_back(task, corpus, part)
            parts += own
            notes.append(note)
        elif part != "test":
            raise UserError(
                f"{file_of(corpus)}: {run.path} was not trained on it, so that it has no validation part; "
                "leave --set evaluation.part out"
            )
        else:
            table, more = read_asked(task, file_of(corpus), str(run.path))
            parts += [Part(series, 0, len(series)) for series in table.series]
            notes += more
    windows = windows_of(task, parts)
    if windows is None:
        frame = task.frame
        raise UserError(
            f"{', '.join(file_of(corpus) for corpus in corpora)}: no window: one needs {frame.look_back} steps to look "
            f"back and {frame.horizon} to be forecast"
        )
    return _blocks(task, windows, parts, notes)


def kept_back(task: ForecastTask, data: DataSettings) -> Test:
    """The test part, which no training saw; where no window of it is, what training was watched with."""
    found = parts_of(task.settings, data.corpora, data.valid, (), task.scales.columns)
    what, parts, windows = "test", found.test, windows_of(task, found.test) if found.test else None
    if windows is None:
        what, parts, windows = "validation", found.valid, windows_of(task, found.valid)
    assert windows is not None  # else it had not been trained
    return _blocks(task, windows, parts, [_told(found.table.file, what, parts)])


def _kept_back(task: ForecastTask, corpus: Corpus, part: Kept) -> tuple[list[Part], str]:
    found = parts_of(task.settings, [corpus], (), (), task.scales.columns)
    what, parts = ("test", found.test) if found.test and part == "test" else ("validation", found.valid)
    return parts, _told(found.table.file, what, parts)


def _told(file: str, what: str, parts: Sequence[Part]) -> str:
    first = parts[0]
    since = str(first.series.times_T[first.begin]).replace("T", " ").removesuffix(".000000")
    remark = "" if what == "test" else ", which chose the model too"
    return f"{file}: was trained on; its {what} part is forecast, from {since} on{remark}"


def _blocks(task: ForecastTask, windows: Windows, parts: Sequence[Part], notes: list[str]) -> Test:
    """As many windows as a horizon has steps: fewer would share most of what they forecast."""
    H = task.settings.horizon
    first = {int(of): int(windows.start_N[windows.of_N == of][0]) for of in np.unique(windows.of_N)}
    numbers: dict[tuple[int, int], int] = {}
    block_N = np.empty(len(windows.of_N), np.int64)
    for row, (of, start) in enumerate(zip(windows.of_N.tolist(), windows.start_N.tolist(), strict=True)):
        block_N[row] = numbers.setdefault((of, (start - first[of]) // H), len(numbers))
    names = [
        f"{parts[of].series.name} {parts[of].series.times_T[first[of] + number * H]} +{H}".strip()
        for of, number in numbers
    ]
    few = f"; from {counted(len(names), 'block')}, intervals say little" if len(names) < FEW else ""
    notes.append(
        f"{counted(len(windows), 'window')}, a step apart, none left out; intervals are by blocks of {H} windows{few}"
    )
    return Test(windows, tuple(parts), block_N, names, notes)


def errors(
    forecaster: Forecaster, test: Test, names: Sequence[RollingMetric], moved: Callable[[float], None]
) -> Errors:
    task, windows = forecaster.task, test.windows
    scales = [task.scales.scale_of(part.series, seen_of(part, task.frame))[0] for part in test.parts]
    sums = {name: np.zeros((len(test.blocks), 2)) for name in names}
    for chunk in range(len(windows.rows)):
        examples = windows.read([chunk])[0]
        said_BHCQ = forecaster.z_scores(examples)
        came_BHC = examples.columns["target"].values_N.reshape(said_BHCQ.shape[:-1]).astype(float)
        for at, (said_HCQ, came_HC) in enumerate(zip(said_BHCQ, came_BHC, strict=True)):
            row = CHUNK * chunk + at
            each = _errors(said_HCQ, came_HC, scales[windows.of_N[row]], forecaster.levels)
            for name in names:
                there = ~np.isnan(each[name])
                sums[name][test.block_N[row]] += each[name][there].sum(), there.sum()
        moved(len(examples) / len(windows))
    return {name: table.tolist() for name, table in sums.items()}


def _errors(said_HCQ: Floats, came_HC: Floats, scale: Scale, levels: Sequence[float]) -> dict[str, Floats]:
    """Of each value; NaN where it is not counted. said, came: z-scores."""
    away_HC = said_HCQ[..., 0] - came_HC
    units_HC = away_HC * np.array(scale.deviation_C)
    naive_C = np.array(scale.naive_C)
    # a column that never changed in training has no scale
    mase_HC = np.abs(units_HC) / np.where(naive_C > 0, naive_C, np.nan)
    found = {
        "mse": away_HC**2,
        "mae": np.abs(away_HC),
        "mase": mase_HC,
        "mse-units": units_HC**2,
        "mae-units": np.abs(units_HC),
    }
    if len(levels) > 1:
        levels_Q, beyond_HCQ = np.array(levels), came_HC[..., None] - said_HCQ[..., 1:]
        found["crps"] = 2 * np.maximum(levels_Q * beyond_HCQ, (levels_Q - 1) * beyond_HCQ).mean(-1)
        inside_HC = (came_HC >= said_HCQ[..., 1]) & (came_HC <= said_HCQ[..., -1])
        found["coverage"] = np.where(np.isnan(came_HC), np.nan, 100.0 * inside_HC)
    return found
