"""How answers are to be written: a run's own settings, changed by what was asked for."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.opened import Opened
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import SettingsError, UserError, loads
from seqloom.settings.words import show, whole
from seqloom.tasks.settings import TaskSettings

SECTION = "generation."
OPTIONS = {"beam": "--beam ", "n_best": "--n-best ", "sample": "--sample"}
ARGUMENTS = {"beam": "beam=", "n_best": "n_best=", "sample": "sample=True"}
UNWRITTEN = {
    "tag": ("a tagger gives each word its likeliest tag", {"batch"}),
    "classify": ("a classifier chooses among its labels", {"batch", "n_best"}),
    "nodes": ("each node gets its likeliest label", {"batch", "n_best"}),
    "masked": ("a masked model fills the gaps of a text", {"batch", "n_best"}),
    "forecast": ("a forecast is numbers, all said at once", set[str]()),
}
"""Tasks whose answers are not written one token after the other: what they do, and the settings that change it."""


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
    _refuse(changes, beam, n_best, sample, words)
    own = opened.recipe.generation
    drawn = [f"{SECTION}sample={{temperature = 1.0}}"] if sample and own.sample is None else []
    beam_set = beam is not None or any(change.partition("=")[0].strip() == f"{SECTION}beam" for change in changes)
    asked = {} if beam is None else {f"{SECTION}beam={beam}": f"{words['beam']}{beam}"}
    asked |= {} if n_best in (None, own.n_best) else {f"{SECTION}n_best={n_best}": f"{words['n_best']}{n_best}"}
    if not beam_set and (n_best or 0) > own.beam:
        asked[f"{SECTION}beam={n_best}"] = f"{words['n_best']}{n_best}"
    given = [*drawn, *changes, *asked]
    try:
        found = _changed(opened.text, str(opened.run.recipe), tuple(given)) if given else own
    except SettingsError as error:
        text = str(error)
        for change, option in asked.items():  # nobody typed --set
            text = text.replace(f"--set {change}: [{SECTION[:-1]}]", f"{option}:")
        raise SettingsError(text) from None
    refuse_unused(opened.recipe.task, found, _typed(changes, beam, n_best, sample, words))
    return found


def drawn_without_sample(opened: Opened, settings: GenerationSettings, changes: Sequence[str]) -> str | None:
    """What to say to who did not ask for draws, but set how they are made: they are drawn then."""
    how = typed_changes(changes).get("sample")
    if how is None or settings.sample is None or opened.recipe.generation.sample is not None:
        return None
    return f"{how}: answers are drawn by chance, as with {OPTIONS['sample']}; without it they are searched for"


def typed_changes(changes: Sequence[str]) -> dict[str, str]:
    """Of --set the settings of writing, each as it was typed."""
    return {_field(change): f"--set {change}" for change in changes if change.strip().startswith(SECTION)}


def used_changes(task: TaskSettings, changes: Sequence[str]) -> list[str]:
    """Those that change how the task's answers come about, for whoever asks models of several tasks."""
    if task.kind not in UNWRITTEN:
        return list(changes)
    return [change for change in changes if not change.startswith(SECTION) or _field(change) in UNWRITTEN[task.kind][1]]


def refuse_unused(task: TaskSettings, settings: GenerationSettings, typed: Mapping[str, str]) -> None:
    """typed: the settings that somebody asked for, and in which words."""
    for name, why in _unused(task, settings):
        if name in typed:
            raise UserError(f"{typed[name]}: {why}; leave it out")


@lru_cache(maxsize=64)
def _changed(text: str, name: str, given: tuple[str, ...]) -> GenerationSettings:
    """Kept: whoever asks sentence by sentence asks alike, and reading a recipe takes as long as writing some words."""
    return loads(text, Recipe, given, name=name).generation


def _refuse(
    changes: Sequence[str], beam: int | None, n_best: int | None, sample: bool, words: Mapping[str, str]
) -> None:
    for change in changes:
        if not change.strip().startswith(SECTION):
            raise UserError(
                f"--set {change}: a run is what it is; only how it writes can be changed, as in --set generation.beam=5"
            )
    for name, value in ("beam", beam), ("n_best", n_best):
        if value is not None and not whole(value, 1):
            raise UserError(f"{words[name]}{value}: {name} should be a whole number (at least 1), not {show(value)}")
    if not isinstance(sample, bool):
        how = 'changes=["generation.sample.temperature=0.8"] says how'
        raise UserError(f"sample should be True or False, not {show(sample)}; {how}")


def _typed(
    changes: Sequence[str], beam: int | None, n_best: int | None, sample: bool, words: Mapping[str, str]
) -> dict[str, str]:
    """The settings that somebody asked for, each as it was typed."""
    typed = typed_changes(changes)
    typed |= {} if beam is None else {"beam": f"{words['beam']}{beam}"}
    typed |= {} if n_best in (None, 1) else {"n_best": f"{words['n_best']}{n_best}"}
    return typed | ({"sample": words["sample"]} if sample else {})


def _field(change: str) -> str:
    """generation.sample.top_k=5: sample"""
    return change.partition("=")[0].strip().removeprefix(SECTION).partition(".")[0]


def _unused(task: TaskSettings, settings: GenerationSettings) -> Iterator[tuple[str, str]]:
    """Settings that change nothing, and why. Of whoever types one, something else is meant."""
    if task.kind in UNWRITTEN:
        what, used = UNWRITTEN[task.kind]
        others = [name for name in type(settings).model_fields if name not in used]
        yield from ((name, what) for name in others if name != "n_best" or settings.n_best > 1)
    elif settings.sample is not None or (settings.rerank is not None and settings.rerank.of == "samples"):
        yield "beam", "answers are drawn by chance, and there is no beam"
