"""How fast a system learnt, in one quantity for all systems of a comparison, whatever their losses are means over."""

from seqloom.data.reading import Shape
from seqloom.jobs.corpora.build import Corpora
from seqloom.tasks import Task
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.masked import MaskedTask

UNITS: dict[Shape, tuple[str, str]] = {
    "pairs": ("tokens/s", "tokens of targets, end marks included"),
    "text": ("tokens/s", "tokens that are read, marks not counted"),
    "tags": ("words/s", "words that have a tag"),
    "classes": ("examples/s", "examples"),
    "timeline": ("values/s", "values that are forecast"),
    "series": ("examples/s", "examples"),
}
"""What a column calls it, and what is counted."""


def per_part(task: Task, corpora: Corpora | None) -> float | None:
    """How many of the unit there are for each part of the goal, which is what training counts.

    corpora: what was trained on; None where they are not at hand. None: nobody knows.
    """
    match task:
        case JoinedTask() if task.settings.learn == "all":
            if corpora is None:
                return None
            target = corpora.tokens("target") + corpora.rows
            return target / max(1, target + corpora.tokens("source"))
        case MaskedTask():
            return 1 / task.settings.share
        case _:
            return 1.0
