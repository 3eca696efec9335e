"""`--seed 3`, where the seed is a setting, or what another toolkit calls it: how it is set is said."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from seqloom.cli.foreign import VERBS

if TYPE_CHECKING:  # help needs none of it
    from pydantic import BaseModel

    from seqloom.settings.foreign import Way

_TRAINING, _WRITING = ("train", "compare", "check", "recipes"), ("predict", "evaluate", "look", "serve")


def refuse_settings(verb: str, known: Iterable[str], words: Sequence[str]) -> None:
    """A UserError for an option that the verb does not have, but its settings do, or another toolkit.

    known: the verb's options. Of others typer says that there is no such option.
    """
    options = set(known)
    for number, word in enumerate(takewhile(lambda word: word != "--", words)):
        option, _, value = word.partition("=")
        if not option.startswith("--") or option in options:
            continue
        following = words[number + 1] if number + 1 < len(words) else ""
        value = value or ("…" if following.startswith("--") else following) or "…"
        name = option[2:].replace("_", "-")
        way = _way(verb, name, options)
        if way is None:
            continue
        from seqloom.settings import UserError

        what = ", but a setting: " if way.setting else "; here: "
        raise UserError(f"{option}: is no option of {verb}{what}{way.told(value)}")


def _way(verb: str, name: str, options: Iterable[str]) -> "Way | None":
    """A name that elsewhere is an option goes before a setting: to nobody is --output the kind of a model's output."""
    if verb not in (*_TRAINING, *_WRITING):
        return None
    from seqloom.settings.foreign import Way, foreign

    way = foreign(name, writing=verb in _WRITING)
    if way is not None and way.option:
        return way if way.option in options else None
    setting = _settings(verb).get(name.replace("-", "_"))
    return way if setting is None else Way(setting)


def refuse_verb(verb: str) -> None:
    """A UserError for a command of another toolkit."""
    instead = VERBS.get(verb.replace("_", "-"))
    if instead is not None:
        from seqloom.settings import UserError

        raise UserError(f"{verb}: is no command of seqloom; here: {instead}")


def _settings(verb: str) -> dict[str, str]:
    """By their last names. What is nearer to the top goes before what is deeper."""
    found: dict[str, str] = {}
    for section, schema in _sections(verb):
        found = dict(_fields(section, schema)) | found
    return found


def _sections(verb: str) -> "Iterator[tuple[str, type[BaseModel]]]":
    from seqloom.generation.rerank import MBR
    from seqloom.generation.sampling import Sampling
    from seqloom.generation.settings import GenerationSettings

    if verb in _TRAINING:
        from seqloom.data.settings import DataSettings
        from seqloom.models.settings import ModelSettings
        from seqloom.training.settings import TrainingSettings

        yield from (("training", TrainingSettings), ("model", ModelSettings), ("data", DataSettings))
        yield "generation", GenerationSettings
        return
    from seqloom.evaluation.settings import EvaluationSettings

    if verb == "evaluate":
        yield "evaluation", EvaluationSettings
    if verb == "serve":
        from seqloom.serving.settings import ServingSettings

        yield "serving", ServingSettings
    yield from (("generation", GenerationSettings), ("generation.sample", Sampling), ("generation.rerank", MBR))


def _fields(section: str, schema: "type[BaseModel]") -> Iterator[tuple[str, str]]:
    """Of a table its kind is what one value can say; a table without kinds is left out."""
    from seqloom.settings.shape import is_model, members, slot

    for name, field in schema.model_fields.items():
        bare = slot(field.annotation).type
        tables = [each for each in (members(bare) or [bare]) if is_model(each)]
        if name != "kind" and all("kind" in table.model_fields for table in tables):
            yield name, f"{section}.{name}" + (".kind" if tables else "")
