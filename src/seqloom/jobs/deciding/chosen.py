"""The recipe that is chosen for the data, where none is named or where one says nothing of task, text and model."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from seqloom.data.file_format import format_by_name
from seqloom.data.reading import Shape
from seqloom.data.readings import ReadingsSettings
from seqloom.data.settings import Bad, Corpus, DataSettings
from seqloom.jobs.deciding.default import Look, default_settings, look
from seqloom.jobs.deciding.sizes import SIZES, Size, heads_for, model_of, picture_input
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import SettingsError, dump, loads
from seqloom.settings.syntax import parse
from seqloom.tasks import Forecast

CHOSEN = "the chosen recipe"
TASK, READS = "task.kind", "task.reads"
SECTIONS = ("task", "text", "model")


@dataclass(frozen=True)
class Part:
    """What a recipe file says; no file says nothing."""

    name: str = CHOSEN
    text: str = ""

    def says(self) -> dict[str, Any]:
        return parse(self.text, self.name)

    @property
    def whole(self) -> bool:
        """Whether it decides any of the things that would be chosen together."""
        return any(section in self.says() for section in SECTIONS)

    def training(self) -> dict[str, Any]:
        """Its settings of training; what is no table is told when it is loaded."""
        own = self.says().get("training")
        return own if isinstance(own, dict) else {}

    def data(self, changes: Sequence[str]) -> DataSettings:
        return self._early(changes, "data.").data

    def readings(self, changes: Sequence[str]) -> ReadingsSettings:
        return self._early(changes, "readings.").readings

    def _early(self, changes: Sequence[str], section: str) -> "_Early":
        return loads(self.text, _Early, [change for change in changes if change.startswith(section)], self.name)


class _Early(BaseModel):
    """Of a recipe only the files and how they are read: what else it says cannot be judged before they are seen."""

    data: DataSettings = DataSettings()
    readings: ReadingsSettings = ReadingsSettings()


def chosen(part: Part, corpora: Sequence[Corpus], bad: Bad, changes: Sequence[str]) -> tuple[Recipe, tuple[str, ...]]:
    """A sound recipe for the data, of which only the size of the model is open; what `part` says stands."""
    seen = _sized(look(corpora, bad, named_shape(changes)), part.readings(changes).size)
    recipe = _filled(part, default_settings(seen), seen, changes)
    files: dict[str, tuple[Corpus, ...]] = {"corpora": tuple(corpora)}
    if seen.labels_first:
        files["corpora"] = tuple(
            _turned(corpus) if corpus is corpora[0] or look([corpus], bad).labels_first else corpus
            for corpus in corpora
        )
        if all(one is not other for one, other in zip(files["corpora"], corpora, strict=True)):
            files |= {name: tuple(map(_turned, getattr(recipe.data, name))) for name in ("valid", "test")}
    data = recipe.data.model_copy(update=files)
    return recipe.model_copy(update={"data": data}), tuple(_notes(recipe, corpora, seen, part))


def _turned(corpus: Corpus) -> Corpus:
    """With labels in its first column; what names its columns itself stays."""
    if corpus.source is not None or corpus.target is not None or len(corpus.files) > 1:
        return corpus
    return corpus.model_copy(update={"source": "2", "target": "1"})


def _notes(recipe: Recipe, corpora: Sequence[Corpus], seen: Look, part: Part) -> Iterator[str]:
    kind, pieces = recipe.task.kind, "series" if seen.shape == "series" else recipe.text.source.kind
    why = f"{part.name} names no task, text or model" if part.text else "no recipe named"
    if isinstance(recipe.task, Forecast):
        task = recipe.task
        yield (
            f"{why}: the data is a series: forecast, {task.look_back} → {task.horizon} steps; others: --set "
            "task.look_back=… --set task.horizon=…; another task: --set task.kind=…"
        )
        return
    by_name = f", as its column {seen.label_column!r} says" if seen.label_column else ""
    yield f"{why}: the data looks like {kind} ({pieces}){by_name}; another task: --set task.kind=…, or a recipe"
    if seen.unlike and recipe.readings.size is not None:
        rows, columns = recipe.readings.size
        yield (
            f"{corpora[0].files[0]}: pictures that are large, or of unlike sizes; all are scaled to {rows} × {columns} "
            "pixels: another size: --set readings.size=[ROWS,COLUMNS]"
        )
    if seen.labels_first:
        yield (
            f"{corpora[0].files[0]}: the first column holds labels ({', '.join(seen.labels_first)}, …): it is the "
            "target, the second column the source; otherwise: --source 1 --target 2"
        )
    plain = [corpus.files[0] for corpus in corpora if format_by_name(corpus.files[0]) == "text"]
    if seen.shape == "text" and len(plain) > 1:
        yield (
            f"{len(plain)} files of plain text are {len(plain)} corpora of one language model; "
            "pairs are two files whose lines belong together, or a file with columns"
        )


def _filled(part: Part, settings: dict[str, Any], seen: Look, changes: Sequence[str]) -> Recipe:
    """The part with what it leaves open behind it, so that its lines keep their numbers."""
    training, own = settings.pop("training"), part.training()
    others = {name: settings.pop(name, {}) for name in ("data", "readings")}
    shared = [change.partition("=")[2].strip() for change in changes if change.startswith("text.shared=")]
    settings["text"] |= {"shared": shared[-1] == "true"} if shared else {}
    settings["model"] = _smallest(seen.shape, bool(settings["text"].get("shared")), changes)
    if seen.picture is not None:
        settings["model"] |= {"input": picture_input(seen.picture), "positions": {"kind": "sinusoidal"}}
    if "generation" in part.says():
        settings.pop("generation", None)
    if "training" not in part.says():
        settings["training"] = training
    named = isinstance(part.says().get("training"), dict)  # what is no table is told with its line
    open_ = {name: value for name, value in training.items() if name not in own and named}
    first = [change for name, value in open_.items() for change in _leaves(f"training.{name}", value)]
    for section, values in others.items():
        said = part.says().get(section)
        left = {name: value for name, value in values.items() if not isinstance(said, dict) or name not in said}
        first += _leaves(section, left)
    text = f"{part.text}\n{dump(Recipe.model_validate(settings), defaults=False)}"
    return _loaded(text, part, (*first, *changes))


def _sized(seen: Look, size: tuple[int, int] | None) -> Look:
    """Pictures, in the size that somebody asks for."""
    if seen.picture is None or size is None:
        return seen
    return replace(seen, picture=(*size, seen.picture[2]), unlike=False)


def _leaves(name: str, value: Any) -> Iterator[str]:
    """A setting as changes."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _leaves(f"{name}.{inner}", one)
    else:
        yield f"{name}={json.dumps(value)}"


def _smallest(shape: Shape, shared: bool, changes: Sequence[str]) -> dict[str, Any]:
    """A model to begin from; a width that was asked for decides the number of heads."""
    asked_for = [change.partition("=")[2] for change in changes if change.startswith("model.width=")]
    size = SIZES[0]
    if asked_for and asked_for[-1].strip().isdecimal():
        width = int(asked_for[-1])
        # one that cannot be is told with the change that asks for it
        size = Size(width, size.depth, heads_for(width)) if width and width % 2 == 0 else replace(size, heads=1)
    return model_of(size, shape, 0.1, shared)


def _loaded(text: str, part: Part, changes: Sequence[str]) -> Recipe:
    """With its changes; what was chosen has no file whose lines a fault could be told by."""
    lines = len(part.text.splitlines())

    def placed(found: re.Match[str]) -> str:
        return found[0] if int(found[1]) <= lines else f"{CHOSEN}: "

    try:
        return loads(text, Recipe, changes, name=part.name)
    except SettingsError as error:
        place = rf"^{re.escape(part.name)}:(\d+): "
        raise SettingsError(re.sub(place, placed, str(error), flags=re.MULTILINE)) from None


def named_shape(changes: Sequence[str]) -> Shape | None:
    """Of the task that was named with --set, if one was."""
    tasks: dict[str, Shape] = {"translate": "pairs", "tag": "tags", "classify": "classes"}
    tasks |= {"language": "text", "masked": "text", "music": "text", "forecast": "timeline"}
    shape = tasks.get(named_task(changes) or "")
    reads = [value.strip(" \"'") for key, _, value in (change.partition("=") for change in changes) if key == READS]
    return "series" if reads and reads[-1] == "series" and shape in (None, "classes") else shape


def named_task(changes: Sequence[str]) -> str | None:
    """The kind of task that was named with --set, if one was."""
    named = [value.strip(" \"'") for key, _, value in (change.partition("=") for change in changes) if key == TASK]
    return named[-1] if named else None


def with_model(recipe: Recipe, model: dict[str, Any], changes: Sequence[str]) -> Recipe:
    """The chosen recipe with a model of another size; what was changed by hand stays changed."""
    plain = recipe.model_dump(mode="json", exclude_none=True, exclude_unset=True, exclude={"model"})
    whole = Recipe.model_validate({**_tuples(plain), "model": model})
    return _loaded(dump(whole, defaults=False), Part(), changes)


def _tuples(value: Any) -> Any:
    match value:
        case dict():
            return {name: _tuples(inner) for name, inner in value.items()}
        case list():
            return tuple(map(_tuples, value))
        case _:
            return value
