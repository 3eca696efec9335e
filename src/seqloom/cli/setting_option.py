"""`--seed 3`, where the seed is a setting: how it is set is said."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help needs none of it
    from pydantic import BaseModel


def refuse_settings(verb: str, known: Iterable[str], words: Sequence[str]) -> None:
    """A UserError for an option that the verb does not have, but [generation], [evaluation] or [serving] does.

    known: the verb's options. Of others typer says that there is no such option.
    """
    options = set(known)
    for number, word in enumerate(takewhile(lambda word: word != "--", words)):
        option, _, value = word.partition("=")
        if not option.startswith("--") or option in options:
            continue
        setting = _settings(verb).get(option[2:].replace("-", "_"))
        if setting is not None:
            from seqloom.settings import UserError

            following = words[number + 1] if number + 1 < len(words) else ""
            value = value or ("…" if following.startswith("--") else following) or "…"
            raise UserError(f"{option}: is no option of {verb}, but a setting: --set {setting}={value}")


def _settings(verb: str) -> dict[str, str]:
    """By their last names. What is nearer to the top goes before what is deeper."""
    from seqloom.evaluation.settings import EvaluationSettings
    from seqloom.generation.rerank import MBR
    from seqloom.generation.sampling import Sampling
    from seqloom.generation.settings import GenerationSettings

    found: dict[str, str] = {}
    parts: list[tuple[str, type[BaseModel]]] = [("evaluation", EvaluationSettings)] if verb == "evaluate" else []
    if verb == "serve":
        from seqloom.serving.settings import ServingSettings

        parts.append(("serving", ServingSettings))
    parts += [("generation", GenerationSettings), ("generation.sample", Sampling), ("generation.rerank", MBR)]
    for section, schema in parts:
        found = dict(_fields(section, schema)) | found
    return found


def _fields(section: str, schema: "type[BaseModel]") -> Iterator[tuple[str, str]]:
    """Of a table its kind is what one value can say; a table without kinds is left out."""
    from seqloom.settings.shape import is_model, members, slot

    for name, field in schema.model_fields.items():
        bare = slot(field.annotation).type
        tables = [each for each in (members(bare) or [bare]) if is_model(each)]
        if name != "kind" and all("kind" in table.model_fields for table in tables):
            yield name, f"{section}.{name}" + (".kind" if tables else "")
