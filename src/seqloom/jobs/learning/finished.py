"""A run that has ended, opened again: its model, its recipe and how it went."""

from seqloom.jobs.corpora.build import corpora
from seqloom.jobs.deciding.decide import device_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.train import scores_of
from seqloom.jobs.trained import Trained
from seqloom.models import build_model
from seqloom.settings import load
from seqloom.store import RunFolder
from seqloom.training.loop import best_weights
from seqloom.training.place import Place

LONGER = 1.2  # a run for which so many times its minutes are asked now is to go on


def finished(run: RunFolder, minutes: float) -> Trained | None:
    """None: there is no run, it was stopped before its end, or more time is asked for than it had."""
    checkpoint = run.checkpoints.newest() if run.exists() and run.model.exists() else None
    if checkpoint is None:
        return None
    place, recipe = Place.of(checkpoint.numbers["place"]), load(run.recipe, Recipe)
    had = max(recipe.training.minutes or 0.0, place.seconds / 60)
    if place.ended is None or minutes > LONGER * had:
        return None
    data = corpora(recipe)
    model = build_model(recipe.model, data.task.sizes()).to(device_of(recipe.training.device)).eval()
    best_weights(run, model)
    return Trained(run, recipe, data, model, place, scores_of(run, place), {})
