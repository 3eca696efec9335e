"""How answers are to be written: a run's own settings, changed by what was asked for."""

from collections.abc import Sequence

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.opened import Opened
from seqloom.jobs.recipe import Recipe
from seqloom.settings import UserError, loads

SECTION = "generation."


def generation_of(
    opened: Opened,
    changes: Sequence[str] = (),
    beam: int | None = None,
    n_best: int | None = None,
    sample: bool = False,
) -> GenerationSettings:
    """changes: as for --set. n_best: a beam that nobody set grows with it. sample: draw, as `changes` may say how."""
    for change in changes:
        if not change.strip().startswith(SECTION):
            raise UserError(
                f"--set {change}: a run is what it is; only how it writes can be changed, as in --set generation.beam=5"
            )
    own = opened.recipe.generation
    given = [f"{SECTION}sample={{temperature = 1.0}}"] if sample and own.sample is None else []
    given += changes
    beam_set = beam is not None or any(change.partition("=")[0].strip() == f"{SECTION}beam" for change in changes)
    given += [] if beam is None else [f"{SECTION}beam={beam}"]
    given += [] if n_best in (None, own.n_best) else [f"{SECTION}n_best={n_best}"]
    given += [f"{SECTION}beam={n_best}"] if not beam_set and (n_best or 0) > own.beam else []
    return loads(opened.text, Recipe, given, name=str(opened.run.recipe)).generation if given else own
