"""A run to begin from: its weights, as far as they fit, and the vocabulary that they know."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from seqloom.data.readings import ReadingsSettings
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.deciding.chosen import Part
from seqloom.jobs.learning.request import differences
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.starting.adapted import adapted_model, adapted_text
from seqloom.jobs.starting.counterpart import Counterparts
from seqloom.jobs.starting.taking import Taken, take
from seqloom.layers.embedding import Spelled
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError, dump, load, loads
from seqloom.store import RunFolder, load_weights, read_tensors
from seqloom.store.atomic import readable
from seqloom.tasks import Codecs, Known, TaskSettings, build_task
from seqloom.text import TextSettings
from seqloom.training.optimisers import AdamW
from seqloom.training.schedules import Linear
from seqloom.training.settings import TrainingSettings

GENTLE = 3e-4
"""The rate for another task, where nothing is said: what was learnt should not be washed away."""


class Sections(BaseModel):
    """What belongs to a run's weights, and holds for the run that begins from them, unless its recipe says it."""

    task: TaskSettings | None = None
    text: TextSettings | None = None
    model: ModelSettings | None = None
    readings: ReadingsSettings | None = None
    generation: GenerationSettings | None = None
    training: TrainingSettings | None = None


@dataclass(frozen=True)
class Start:
    run: RunFolder
    recipe: Recipe
    codecs: Codecs
    fingerprint: str
    """Of the weights."""

    def completed(self, part: Part, task: str | None) -> Part:
        """The recipe's own sections, and behind them the run's, fitted to the task. task: its kind; None: the run's."""
        kind, own = task or self.recipe.task.kind, part.says()
        same = kind == self.recipe.task.kind
        try:
            model = self.recipe.model if same or "model" in own else adapted_model(self.recipe.model, kind)
        except UserError as error:
            raise UserError(f"--from {self.run.path}: {error}") from None
        pieces = adapted_text(self.recipe.text, model, kind).model_copy(update={"extend": None})
        has: dict[str, Any] = {"model": model, "text": pieces}
        if same:
            has |= {"task": self.recipe.task, "generation": self.recipe.generation}
        if same and self.recipe.readings.size is not None:
            has |= {"readings": self.recipe.readings}
        missing = {name: value for name, value in has.items() if name not in own}
        text = dump(Sections(**missing))
        if "readings" in missing and "data" not in own:  # all pictures have as many pixels as those of the run
            text += f"\n[data]\nlongest = {self.recipe.data.longest}\n"
        if not same and "task" not in own:
            spelled = "spelled = true\n" if isinstance(model.input, Spelled) else ""
            text = f'[task]\nkind = "{kind}"\n{spelled}\n{text}'
        if not same and "training" not in own:
            gentle = TrainingSettings(
                optimiser=AdamW(kind="adamw", rate=GENTLE), schedule=Linear(kind="linear", warmup=0.1)
            )
            text += "\n" + dump(Sections(training=gentle), defaults=False)
        return Part(part.name if part.text else str(self.run.recipe), f"{part.text}\n{text}")

    def known(self, recipe: Recipe) -> Known:
        """What a run of this recipe takes over of the vocabularies."""
        if self.codecs.scales is not None:
            return Known(scales=self.codecs.scales)
        return Counterparts.of(self.recipe, recipe).known(self.codecs, recipe)

    def notes(self, recipe: Recipe) -> Iterator[str]:
        """What the recipe says otherwise than the run."""
        known = self.known(recipe)
        kept = "its vocabulary" if known.source is not None else "a vocabulary of its own, as [text] is another"
        more = f" and up to {recipe.text.extend:,} pieces more" if known.source and recipe.text.extend else ""
        yield f"begins from {self.run.path}, with {kept}{more}"
        was, now = ({"task": _plain(one.task), "model": _plain(one.model)} for one in (self.recipe, recipe))
        for path in differences(was, now):
            if recipe.task.kind == self.recipe.task.kind or (path[0] == "model" and path[1] not in OWN):
                yield f"{'.'.join(path)}: {_at(was, path)} there, {_at(now, path)} from here on"

    def load(self, model: Model, recipe: Recipe, codecs: Codecs) -> Taken:
        """The run's weights into a model, as far as they fit; a UserError, if too little does."""
        task = build_task(self.recipe.task, self.codecs, self.recipe.model.family)
        old = build_model(self.recipe.model, task.sizes())
        try:
            load_weights(old, read_tensors(self.run.model))
        except ValueError as error:
            raise UserError(f"--from {self.run.path}: its weights are not those of its recipe: {error}") from None
        taken = take(model, old, Counterparts.of(self.recipe, recipe), codecs, self.codecs)
        why = taken.misfit()
        if why is not None:
            raise UserError(
                f"--from {self.run.path}: its weights do not fit the recipe's model: {why}; leave [model] out of the "
                f"recipe, or take over that of {self.run.recipe}"
            )
        return taken

    def facts(self) -> dict[str, Any]:
        """For the request: what it was begun from."""
        return {"run": str(self.run.path), "weights": self.fingerprint, "recipe": dump(self.recipe)}


OWN = ("output", "tie", "family")
"""Settings of a model that another task has of its own: the table of what was taken tells of them."""


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
    kept = began_with(out)
    if kept is None or kept.get("run") != str(run.path) or not out.checkpoints.any():
        return None
    with readable(out.path):
        # a run of old kept no recipe of the other, which was of the same task and model
        text = kept.get("recipe") or out.recipe.read_text(encoding="utf-8-sig")
        return Start(
            run, loads(text, Recipe, (), str(run.recipe)), Codecs.load(out.vocabulary), str(kept.get("weights"))
        )


def began_with(out: RunFolder) -> dict[str, Any] | None:
    """What a run keeps of the one that it began from: its path, its weights, and what was taken of it."""
    try:
        return dict(json.loads(out.request.read_text(encoding="utf-8"))["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def taken_lines(out: RunFolder) -> Sequence[str]:
    """The table of what was taken; none, of a run of old."""
    kept = began_with(out) or {}
    return [str(line) for line in kept.get("taken") or ()]


def _plain(settings: BaseModel) -> Any:
    return json.loads(settings.model_dump_json())


def _at(values: Any, path: tuple[str, ...]) -> str:
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return "unset" if values is None else json.dumps(values)
