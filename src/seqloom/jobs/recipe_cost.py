"""What the model of a recipe costs, before any data is seen: parameters, and training FLOPs for each token."""

from dataclasses import dataclass

from seqloom.jobs.recipe import Recipe
from seqloom.jobs.recipe_list import CHARACTERS, LABELS, LENGTH, WORDS, Listed
from seqloom.models import Sizes, model_cost
from seqloom.models.cost import training_flops
from seqloom.tasks import Language, task_class
from seqloom.text import BPE, Bytes, Characters, Unigram, Words
from seqloom.text.settings import BYTES, PieceSettings
from seqloom.text.specials import SPECIALS


@dataclass(frozen=True)
class _Size:
    """Of a vocabulary. known: nothing had to be assumed."""

    entries: int
    known: bool = True


def listed(recipe: Recipe) -> Listed:
    source, target = _sizes(recipe)
    length = recipe.task.context if isinstance(recipe.task, Language) else LENGTH
    cost = model_cost(recipe.model, Sizes(source.entries, target.entries), length)
    passes = 2 if recipe.training.r_drop else 1
    return Listed(recipe.source, cost.parameters, passes * training_flops(cost), source.known and target.known)


def _sizes(recipe: Recipe) -> tuple[_Size, _Size]:
    """What was published; else what the recipe allows; else what is usual."""
    published, text = recipe.target, recipe.text
    source = _Size(published.source_size) if published.source_size else _pieces(text.source)
    if published.target_size:
        return source, _Size(published.target_size)
    if task_class(recipe.task).shape in ("tags", "classes"):
        return source, _Size(LABELS, known=False)
    if published.source_size or text.shared or text.target is None:
        return source, source
    return source, _pieces(text.target)


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
