"""Runs that answer together: they must mean the same by what they say."""

from collections.abc import Sequence

from seqloom.jobs.opened import Opened
from seqloom.settings import UserError
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.forecast import ForecastTask, levels_of, shown_levels
from seqloom.tasks.settings import Forecast, Language, TaskSettings
from seqloom.tasks.tag import TagTask

OF_EACH = ("look_back", "normalise", "channels", "loss", "every")
"""settings of a forecast that say how it is read and learnt, and not what is said"""


def refuse_strangers(opened: Sequence[Opened]) -> None:
    """A UserError, if one of them cannot answer with the first."""
    first = opened[0]
    for other in opened[1:]:
        if isinstance(first.task, TagTask | ClassifyTask):
            _refuse_other_labels(first, other)
            continue
        if not _alike(other.recipe.task, first.recipe.task):
            _refuse_other_settings(first, other)
            what = f"does another task ({other.recipe.task.kind}) than {first.run.path} ({first.recipe.task.kind})"
        elif other.task.codecs.fingerprint != first.task.codecs.fingerprint:
            what = f"has another vocabulary than {first.run.path}"
        elif other.task.joined != first.task.joined:
            what = f"is of another family ({other.recipe.model.family}) than {first.run.path}"
        else:
            if isinstance(first.task, ForecastTask):
                _refuse_other_quantiles(first, other)
            continue
        raise UserError(f"{other.run.path}: {what}; runs that answer together are trained on the same data and [text]")


def _alike(one: TaskSettings, other: TaskSettings) -> bool:
    """How much text was read at once in training does not hinder anyone later."""
    if isinstance(one, Language) and isinstance(other, Language):
        return one.lines == other.lines
    return not _unlike(one, other)


def _unlike(one: TaskSettings, other: TaskSettings) -> dict[str, tuple[object, object]]:
    """Settings that hinder an answer together, with what both say. Each forecaster reads as it was trained to."""
    own = OF_EACH if isinstance(one, Forecast) else ()
    here, there = one.model_dump(mode="json"), other.model_dump(mode="json")
    return {name: (here[name], there.get(name)) for name in here if name not in own and here[name] != there.get(name)}


def other_settings(one: TaskSettings, other: TaskSettings) -> list[str]:
    """`task.reverse (True, and False there)`, of two that have the same kind."""
    return [f"task.{name} ({here}, and {there} there)" for name, (here, there) in _unlike(one, other).items()]


def _refuse_other_settings(first: Opened, other: Opened) -> None:
    """Of the same task."""
    if other.recipe.task.kind == first.recipe.task.kind:
        others = ", ".join(other_settings(other.recipe.task, first.recipe.task))
        raise UserError(
            f"{other.run.path}: has another {others} than {first.run.path}; runs that answer together are "
            "trained with the same [task]: leave it out, or train it anew so"
        )


def _refuse_other_quantiles(first: Opened, other: Opened) -> None:
    here, there = levels_of(other.network), levels_of(first.network)
    if here != there:
        raise UserError(
            f"{other.run.path}: says other quantiles ({shown_levels(here)}) than {first.run.path} "
            f"({shown_levels(there)}); leave it out, or train it anew with the same (model.output.quantiles)"
        )


def _refuse_other_labels(first: Opened, other: Opened) -> None:
    """Who names labels together may read with other vocabularies, but must mean the same by a label."""
    if (other.recipe.task.kind, other.task.shape) != (first.recipe.task.kind, first.task.shape):
        what = f"does another task ({other.recipe.task.kind}) than {first.run.path} ({first.recipe.task.kind})"
    elif other.task.codecs.target.fingerprint != first.task.codecs.target.fingerprint:
        same = set(other.task.codecs.target.names) == set(first.task.codecs.target.names)
        what = f"has {'the same labels in another order' if same else 'other labels'} than {first.run.path}"
    else:
        return
    raise UserError(f"{other.run.path}: {what}; runs that answer together are trained on the same data")
