"""A run to begin from: its weights, and the vocabulary that they know."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.chosen import Part
from seqloom.jobs.recipe import Recipe
from seqloom.jobs.request import differences
from seqloom.models.build import Model
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError, dump, load
from seqloom.store import RunFolder, load_weights, read_tensors
from seqloom.store.atomic import readable
from seqloom.tasks import Codecs, TaskSettings
from seqloom.text import TextSettings


class Sections(BaseModel):
    """What belongs to a run's weights, and holds for the run that begins from them, unless its recipe says it."""

    task: TaskSettings | None = None
    text: TextSettings | None = None
    model: ModelSettings | None = None
    generation: GenerationSettings | None = None


@dataclass(frozen=True)
class Start:
    run: RunFolder
    recipe: Recipe
    codecs: Codecs
    fingerprint: str
    """Of the weights."""

    def completed(self, part: Part) -> Part:
        """A recipe file that says nothing of task, text and model gets those of the run."""
        if part.whole:
            return part
        missing = {name: getattr(self.recipe, name) for name in Sections.model_fields if name not in part.says()}
        return Part(part.name if part.text else str(self.run.recipe), f"{part.text}\n{dump(Sections(**missing))}")

    def applied(self, recipe: Recipe) -> Recipe:
        """With the run's text settings, as its vocabulary is taken. A UserError if it is for another task."""
        if recipe.task.kind != self.recipe.task.kind:
            raise UserError(
                f"--from {self.run.path}: that run does {self.recipe.task.kind}, and the recipe {recipe.task.kind}; "
                "begin from a run of the same task"
            )
        return recipe.model_copy(update={"text": self.recipe.text})

    def notes(self, recipe: Recipe) -> Iterator[str]:
        """What the recipe says otherwise than the run. What is of other shapes is refused, when it is loaded."""
        yield f"begins from {self.run.path}, with its vocabulary"
        was, now = ({"task": _plain(one.task), "model": _plain(one.model)} for one in (self.recipe, recipe))
        for path in differences(was, now):
            yield f"{'.'.join(path)}: {_at(was, path)} there, {_at(now, path)} from here on"
        if self.recipe.text != recipe.text:
            yield "the recipe's [text] does not count: the vocabulary is that of the run"

    def load(self, model: Model) -> None:
        """The run's weights into a model of the same shapes; a UserError, if they are others."""
        try:
            load_weights(model, read_tensors(self.run.model))
        except ValueError as error:
            raise UserError(
                f"--from {self.run.path}: its weights do not fit the recipe's model: {error}; "
                f"take over the [model] of {self.run.recipe}"
            ) from None

    def facts(self) -> dict[str, str]:
        """For the request: what it was begun from."""
        return {"run": str(self.run.path), "weights": self.fingerprint}


def start_of(path: Path, out: Path | None = None) -> Start:
    """A run with a model; a UserError, if there is none. out: a run that began from it knows all that is needed."""
    run = RunFolder(path)
    began = None if out is None or run.model.exists() else _begun(run, RunFolder(out))
    if began is not None:
        return began
    for file, why in (
        (run.recipe, "holds no run; name a folder that `seqloom train` made"),
        (run.model, "has no model yet; begin from it when it has been validated once"),
        (run.vocabulary, "has lost its vocabulary; put it back as it was saved"),
    ):
        if not file.exists():
            raise UserError(f"--from {path}: {why} (no {file.name})")
    with readable(path), run.model.open("rb") as weights:
        fingerprint = hashlib.file_digest(weights, "sha256").hexdigest()
        return Start(run, load(run.recipe, Recipe), Codecs.load(run.vocabulary), fingerprint)


def _begun(run: RunFolder, out: RunFolder) -> Start | None:
    """What a run that goes on from its own checkpoint has kept of the one that it began from."""
    try:
        kept = dict(json.loads(out.request.read_text(encoding="utf-8"))["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if kept.get("run") != str(run.path) or not out.checkpoints.any():
        return None
    with readable(out.path):
        return Start(run, load(out.recipe, Recipe), Codecs.load(out.vocabulary), str(kept.get("weights")))


def _plain(settings: BaseModel) -> Any:
    return json.loads(settings.model_dump_json())


def _at(values: Any, path: tuple[str, ...]) -> str:
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return "unset" if values is None else json.dumps(values)
