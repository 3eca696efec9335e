"""What is odd about series, before a model learns from them."""
# T steps  C targets

from collections.abc import Iterator, Sequence

import numpy as np

from seqloom.data.check import Finding, Report
from seqloom.data.check.report import PLACES, STOPS, Place, Statistics
from seqloom.data.check.report import Part as PartName
from seqloom.jobs.corpora.series import Part, parts_of, series_corpora
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError
from seqloom.tasks import Forecast
from seqloom.tasks.scales import Scales

FAR = 10.0  # deviations from the training part's mean: a slip of the pen, or of a sensor
DRIFT = 2.0  # deviations that the mean of a later part is away
SHOWN = 20  # columns whose ranges are told


def check_series(recipe: Recipe) -> tuple[Report, tuple[str, ...]]:
    """The report, and how the files were read."""
    assert isinstance(recipe.task, Forecast)
    data, task = recipe.data, recipe.task
    try:
        found = series_corpora(task, data.corpora, data.valid, data.test)
    except UserError as error:
        return Report([_fault(error)]), ()
    parts = parts_of(task, data.corpora, data.valid, data.test)
    scales = found.task.scales
    named: list[tuple[PartName, Sequence[Part], int]] = [
        ("training", parts.train, sum(len(one.cache) for one in found.train)),
        ("validation", parts.valid, sum(map(len, found.valid))),
        ("test", parts.test, sum(map(len, found.test))),
    ]
    report = Report()
    for name, own, windows in named:
        if own:
            report.statistics.append(Statistics(name, windows, 0, {}))
            report.findings.extend(_findings(name, own, scales))
    return report, (*found.notes, *_ranges(parts.train, scales))


def _fault(error: UserError) -> Finding:
    where, _, why = str(error).partition(": ")
    return Finding("fault", why or str(error), "training", 1, 0.0, (Place(where),), STOPS)


def _ranges(parts: Sequence[Part], scales: Scales) -> Iterator[str]:
    values_TC = np.concatenate([part.series.values_TC[part.begin : part.end] for part in parts])
    for column, name in enumerate(scales.columns.values[:SHOWN]):
        own = values_TC[:, column]
        own = own[~np.isnan(own)]
        if len(own):
            yield f"  {name}: from {own.min():.5g} to {own.max():.5g}, mean {own.mean():.5g}"


def _findings(name: PartName, parts: Sequence[Part], scales: Scales) -> Iterator[Finding]:
    C, total = scales.targets, 0
    missing, far, away = list[Place](), list[Place](), list[np.ndarray]()
    lost, wild = 0, 0
    for part in parts:
        scale, _ = scales.scale_of(part.series)
        own_TC = part.series.values_TC[part.begin : part.end, :C]
        z_TC = (own_TC - np.array(scale.mean_C)) / np.array(scale.deviation_C)
        total += own_TC.size
        for mask_TC, places in (np.isnan(own_TC), missing), (np.abs(z_TC) > FAR, far):
            for step, column in np.argwhere(mask_TC)[: PLACES - len(places)]:
                where, what = part.series.place(part.begin + int(step)), scales.columns.targets[column]
                value = own_TC[step, column]
                places.append(Place(where, what if np.isnan(value) else f"{what} = {value:g}"))
        lost, wild = lost + int(np.isnan(own_TC).sum()), wild + int((np.abs(z_TC) > FAR).sum())
        away.append(z_TC)
    if lost:
        yield Finding(
            "note", "values are missing", name, lost, lost / max(total, 1), tuple(missing),
            "they are masked: neither learnt nor scored",
        )  # fmt: skip
    if wild:
        yield Finding(
            "warning", f"more than {FAR:g} deviations from training's mean", name, wild, wild / max(total, 1),
            tuple(far),
            "is it real? A squared loss follows such values first; else leave the cells empty",
        )  # fmt: skip
    yield from _drift(name, np.concatenate(away), scales)


def _drift(name: PartName, z_TC: np.ndarray, scales: Scales) -> Iterator[Finding]:
    for column, target in enumerate(scales.columns.targets if name != "training" else ()):
        own = z_TC[:, column][~np.isnan(z_TC[:, column])]
        if len(own) and abs(own.mean()) > DRIFT:
            yield Finding(
                "note", f"{target} lies {own.mean():+.1f} deviations from its mean in training", name, 1, 0.0, (),
                "its level moves: task.normalise = 'window' or 'last' follows it",
            )  # fmt: skip
