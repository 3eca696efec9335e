"""How answers are to be written: a run's own settings, changed by what was asked for."""

from collections.abc import Sequence

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.recipe import Recipe
from seqloom.settings import UserError, dump, loads

SECTION = "generation."


def generation_of(
    recipe: Recipe,
    changes: Sequence[str] = (),
    beam: int | None = None,
    n_best: int | None = None,
    sample: bool = False,
    name: str = "recipe.toml",
) -> GenerationSettings:
    """changes: as for --set. n_best: a beam that nobody set grows with it. sample: draw, as `changes` may say how."""
    for change in changes:
        if not change.strip().startswith(SECTION):
            raise UserError(
                f"--set {change}: a run is what it is; only how it writes can be changed, as in --set generation.beam=5"
            )
    given = [f"{SECTION}sample={{temperature = 1.0}}"] if sample else []
    given += [*changes]
    given += [] if beam is None else [f"{SECTION}beam={beam}"]
    given += [] if n_best is None else [f"{SECTION}n_best={n_best}"]
    settings = recipe.generation
    beam_set = any(change.partition("=")[0].strip() == f"{SECTION}beam" for change in changes)
    if beam is None and not beam_set and n_best is not None and n_best > settings.beam:
        given.append(f"{SECTION}beam={n_best}")
    return loads(dump(recipe), Recipe, given, name=name).generation if given else settings
