"""What an example, a loss and an answer mean: one file a task."""

from typing import assert_never

from seqloom.models.stack_settings import Family
from seqloom.tasks.batch import Batch, Side
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.classify_series import ClassifySeriesTask
from seqloom.tasks.codecs import Codecs, Known, learn
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.frame import Frame
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.settings import Classify, Forecast, Language, Masked, Music, Nodes, Tag, TaskSettings, Translate
from seqloom.tasks.tag import TagTask
from seqloom.tasks.task import Goals, Task
from seqloom.tasks.translate import TranslateTask

__all__ = [
    "Batch",
    "Classify",
    "Codecs",
    "Forecast",
    "Frame",
    "Goals",
    "Known",
    "Language",
    "Masked",
    "Music",
    "Nodes",
    "Side",
    "Tag",
    "Task",
    "TaskSettings",
    "Translate",
    "build_task",
    "learn",
    "task_class",
]


def task_class(settings: TaskSettings) -> type[Task]:
    match settings:
        case Translate():
            return TranslateTask
        case Language():
            return LanguageTask
        case Music():
            return MusicTask
        case Masked():
            return MaskedTask
        case Tag():
            return TagTask
        case Nodes():
            return NodesTask
        case Classify():
            return ClassifySeriesTask if settings.reads == "series" else ClassifyTask
        case Forecast():
            return ForecastTask
        case _:
            assert_never(settings)


def build_task(settings: TaskSettings, codecs: Codecs, family: Family = "encoder-decoder") -> Task:
    """family: of the model that does it."""
    match settings:
        case Translate() if family == "decoder-only":
            return JoinedTask(settings, codecs)
        case Translate():
            return TranslateTask(settings, codecs)
        case Language():
            return LanguageTask(settings, codecs)
        case Music():
            return MusicTask(settings, codecs)
        case Masked():
            return MaskedTask(settings, codecs)
        case Tag():
            return TagTask(settings, codecs)
        case Nodes():
            return NodesTask(settings, codecs)
        case Classify() if settings.reads == "series":
            return ClassifySeriesTask(settings, codecs)
        case Classify():
            return ClassifyTask(settings, codecs)
        case Forecast():
            return ForecastTask(settings, codecs)
        case _:
            assert_never(settings)
