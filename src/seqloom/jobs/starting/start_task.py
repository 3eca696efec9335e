"""What is wrong with data that is read for the task of the run that is begun from, where that task may not be meant."""

from collections.abc import Iterator
from contextlib import contextmanager

from seqloom.data.reading import shape_of
from seqloom.data.settings import corpora_of
from seqloom.jobs.deciding.series_choice import looks_like_series
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.starting.start import Start
from seqloom.settings import UserError
from seqloom.tasks import Forecast, Music, Nodes, task_class


@contextmanager
def of_start(start: Start | None, recipe: Recipe, files: tuple[str, ...]) -> Iterator[None]:
    """files: of --data."""
    try:
        yield
    except UserError as error:
        same = start is not None and recipe.task.kind == start.recipe.task.kind
        if start is None or not same or not files or not _other_kind(recipe, files):
            raise
        raise UserError(
            f"{error}\n--from {start.run.path}: its task is {recipe.task.kind}, for which these files are read; "
            "name files for that, or leave --from out"
        ) from None


def _other_kind(recipe: Recipe, files: tuple[str, ...]) -> bool:
    """Whether the files do not look as those of the task do."""
    task = recipe.task
    try:
        first = corpora_of(files)[0]
        if isinstance(task, Music):
            return not first.midi
        if isinstance(task, Forecast):
            return not looks_like_series(first)
        if isinstance(task, Nodes):
            return len(files) != 2
        return (task_class(task).shape == "series") != (shape_of(first) == "series")
    except (UserError, OSError):
        return False
