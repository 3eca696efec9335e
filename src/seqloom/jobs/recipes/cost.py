"""What the model of a recipe costs, before any data is seen: parameters, and training FLOPs for each token."""

from dataclasses import dataclass

from seqloom.jobs.deciding.plan import passes
from seqloom.jobs.recipes.listing import CHANNELS, CHARACTERS, LABELS, LENGTH, WORDS, Listed
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.images import Images
from seqloom.models import Sizes, model_cost
from seqloom.models.cost import training_flops
from seqloom.music import event_words
from seqloom.tasks import Forecast, Language, Masked, Music, Nodes, Translate, task_class
from seqloom.tasks.nodes import vectors_of
from seqloom.text import BPE, Bytes, Characters, Unigram, Words
from seqloom.text.settings import BYTES, PieceSettings
from seqloom.text.specials import SPECIALS


@dataclass(frozen=True)
class _Size:
    """Of a vocabulary. known: nothing had to be assumed."""

    entries: int
    known: bool = True


def listed(recipe: Recipe) -> Listed:
    if isinstance(recipe.task, Forecast):
        return _of_series(recipe, recipe.task)
    source, target = _sizes(recipe)
    length, written = _lengths(recipe)
    cost = model_cost(recipe.model, Sizes(source.entries, target.entries), length, asked=_asked(recipe))
    flops = passes(recipe.training) * training_flops(cost) * length / written
    return Listed(recipe.task.kind, recipe.source, cost.parameters, flops, source.known and target.known)


def counted_sizes(recipe: Recipe) -> tuple[tuple[int, int], float, float]:
    """Entries of both vocabularies, the length of a sequence, and the share of it that has an output."""
    source, target = _sizes(recipe)
    return (source.entries, target.entries), _lengths(recipe)[0], _asked(recipe)


def _of_series(recipe: Recipe, task: Forecast) -> Listed:
    """FLOPs for each value that is forecast. Without data one column is assumed, of which no value is missing."""
    known = len(task.known) + 2 * len(task.calendar)
    columns = max(1, len(task.targets)) if task.channels == "together" else 1
    steps = task.look_back + (task.horizon if known else 0)
    sizes = Sizes(columns + len(task.past) + (known + 1 if known else 0), task.horizon * columns, steps)
    cost = model_cost(recipe.model, sizes, steps)
    flops = training_flops(cost) * steps / (task.horizon * columns)
    sure = task.channels == "apart" or bool(task.targets)
    return Listed(task.kind, recipe.source, cost.parameters, flops, sure)


def _lengths(recipe: Recipe) -> tuple[float, float]:
    """Of the sequence, and of the part of it whose tokens the cost is for."""
    if isinstance(recipe.task, Language | Masked | Music):
        return recipe.task.context, recipe.task.context
    # a decoder alone reads source and target as one
    joined = recipe.model.family == "decoder-only"
    return (2 * LENGTH, LENGTH) if joined else (LENGTH, LENGTH)


def _asked(recipe: Recipe) -> float:
    """The share of positions that have an output."""
    if isinstance(recipe.task, Masked):
        return recipe.task.share
    length, written = _lengths(recipe)
    return written / length if isinstance(recipe.task, Translate) and recipe.task.learn == "target" else 1.0


def _sizes(recipe: Recipe) -> tuple[_Size, _Size]:
    """What was published; else what the recipe allows; else what is usual."""
    published, text = recipe.target, recipe.text
    if isinstance(recipe.task, Music) and not published.source_size:
        events = _Size(len(event_words(recipe.task.events)) + len(SPECIALS))
        return events, events
    source = _Size(published.source_size) if published.source_size else _read(recipe)
    if published.target_size:
        return source, _Size(published.target_size)
    if task_class(recipe.task).shape in ("tags", "classes", "series"):
        return source, _Size(LABELS, known=False)
    if published.source_size or text.shared or text.target is None:
        return source, source
    return source, _pieces(text.target)


def _read(recipe: Recipe) -> _Size:
    if isinstance(recipe.task, Nodes):
        return _Size(CHANNELS + vectors_of(recipe.task), known=False)
    if task_class(recipe.task).shape != "series":
        return _pieces(recipe.text.source)
    given = recipe.model.input
    return _Size(given.channels) if isinstance(given, Images) else _Size(CHANNELS, known=False)


def _pieces(settings: PieceSettings) -> _Size:
    match settings:
        case BPE() | Unigram():
            return _Size(settings.size)
        case Bytes():
            return _Size(BYTES + len(SPECIALS))
        case Words():
            return _Size(settings.size or WORDS, settings.size is not None)
        case Characters():
            return _Size(CHARACTERS, known=False)
