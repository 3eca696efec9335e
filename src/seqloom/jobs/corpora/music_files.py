"""MIDI files are for the task music, which says how they are read."""

from collections.abc import Sequence

from seqloom.data.reading.stored_file import shown_all
from seqloom.data.settings import Corpus
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError
from seqloom.tasks import Music


def with_events(recipe: Recipe) -> Recipe:
    """All files read as the task says; a UserError where files and task do not belong together."""
    data, events = recipe.data, recipe.task.events if isinstance(recipe.task, Music) else None
    files = {}
    for name in ("corpora", "valid", "test"):
        corpora: Sequence[Corpus] = getattr(data, name)
        for corpus in corpora:
            _refuse(corpus, recipe)
        if events is not None:
            whole = type(events).model_validate(events.model_dump())  # with its kind, which a file needs, set
            files[name] = tuple(corpus.model_copy(update={"events": whole}) for corpus in corpora)
    return recipe.model_copy(update={"data": data.model_copy(update=files)}) if files else recipe


def _refuse(corpus: Corpus, recipe: Recipe) -> None:
    music, name = isinstance(recipe.task, Music), shown_all(corpus.files)
    if music and not corpus.midi:
        raise UserError(f"{name}: the task music reads MIDI files (.mid, .midi) and folders of them")
    if corpus.midi and not music:
        raise UserError(
            f"{name}: MIDI files are for the task music, and this recipe is for {recipe.task.kind}; "
            "take music-transformer, or no recipe"
        )
    if isinstance(recipe.task, Music) and corpus.events not in (None, recipe.task.events):
        raise UserError(f"{name}: events is another than task.events; set it there alone")
