"""What answers for a run, by its task: a writer, a labeller, a filler, a forecaster."""

from collections.abc import Sequence

import torch

from seqloom.jobs.answering.filling import Filler
from seqloom.jobs.answering.forecasting import Forecaster
from seqloom.jobs.answering.labelling import Labeller
from seqloom.jobs.answering.node_labeller import NodeLabeller
from seqloom.jobs.answering.series_labelling import SeriesLabeller
from seqloom.jobs.answering.writing import Writer
from seqloom.jobs.opened import Opened
from seqloom.models.build import Model as Network
from seqloom.tasks import Task
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.classify_series import ClassifySeriesTask
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask

Answerer = Writer | Labeller | NodeLabeller | Filler | Forecaster


def answerer_of(opened: Sequence[Opened]) -> Answerer:
    """opened: runs that answer together."""
    first, networks = opened[0], [one.network for one in opened]
    task, device = first.task, first.device
    match task:
        case ForecastTask():
            tasks = [one.task for one in opened if isinstance(one.task, ForecastTask)]
            return Forecaster(tasks, networks, device)
        case TranslateTask() | LanguageTask():
            data = first.recipe.data
            reads = data.longest_source if data.too_long == "truncate" else None
            half = all(one.recipe.training.precision == "bf16" for one in opened)
            longest = first.recipe.generation.longest
            return Writer(task, networks, device, first.recipe.longest_seen, reads, half, longest)
        case MaskedTask():
            return Filler(task, networks, device)
        case NodesTask():
            return NodeLabeller(task, networks, device)
        case TagTask() | ClassifyTask():
            return _labeller(opened)
        case _:
            raise TypeError(f"{type(task).__name__} has no answers")


def _labeller(opened: Sequence[Opened]) -> Labeller:
    """Runs with the same vocabulary read a text once; each other vocabulary has a labeller of its own."""
    alike: dict[str, list[Opened]] = {}
    for one in opened:
        alike.setdefault(f"{one.task.codecs.fingerprint} {one.recipe.task}", []).append(one)
    made = [_one(group[0].task, [one.network for one in group], opened[0].device) for group in alike.values()]
    made[0].others = made[1:]
    return made[0]


def _one(task: Task, networks: Sequence[Network], device: torch.device) -> Labeller:
    assert isinstance(task, TagTask | ClassifyTask)
    kind = SeriesLabeller if isinstance(task, ClassifySeriesTask) else Labeller
    return kind(task, networks, device)  # type: ignore[arg-type]  # a series' labeller has a task of series
