"""How answers are to be written: a run's own settings, changed by what was asked for."""

from collections.abc import Mapping, Sequence

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.opened import Opened
from seqloom.jobs.recipe import Recipe
from seqloom.settings import SettingsError, UserError, loads
from seqloom.settings.words import show, whole

SECTION = "generation."
OPTIONS = {"beam": "--beam ", "n_best": "--n-best "}
ARGUMENTS = {"beam": "beam=", "n_best": "n_best="}


def generation_of(
    opened: Opened,
    changes: Sequence[str] = (),
    beam: int | None = None,
    n_best: int | None = None,
    sample: bool = False,
    words: Mapping[str, str] = OPTIONS,
) -> GenerationSettings:
    """changes: as for --set. n_best: a beam that nobody set grows with it. sample: draw, as `changes` may say how.

    words: what whoever asks calls these, for messages.
    """
    for change in changes:
        if not change.strip().startswith(SECTION):
            raise UserError(
                f"--set {change}: a run is what it is; only how it writes can be changed, as in --set generation.beam=5"
            )
    for name, value in ("beam", beam), ("n_best", n_best):
        if value is not None and not whole(value, 1):
            raise UserError(f"{words[name]}{value}: {name} should be a whole number (at least 1), not {show(value)}")
    own = opened.recipe.generation
    drawn = [f"{SECTION}sample={{temperature = 1.0}}"] if sample and own.sample is None else []
    beam_set = beam is not None or any(change.partition("=")[0].strip() == f"{SECTION}beam" for change in changes)
    asked = {} if beam is None else {f"{SECTION}beam={beam}": f"{words['beam']}{beam}"}
    asked |= {} if n_best in (None, own.n_best) else {f"{SECTION}n_best={n_best}": f"{words['n_best']}{n_best}"}
    if not beam_set and (n_best or 0) > own.beam:
        asked[f"{SECTION}beam={n_best}"] = f"{words['n_best']}{n_best}"
    given = [*drawn, *changes, *asked]
    try:
        return loads(opened.text, Recipe, given, name=str(opened.run.recipe)).generation if given else own
    except SettingsError as error:
        text = str(error)
        for change, typed in asked.items():  # nobody typed --set
            text = text.replace(f"--set {change}: [{SECTION[:-1]}]", f"{typed}:")
        raise SettingsError(text) from None
