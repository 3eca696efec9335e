"""From a command's words to a recipe: what was asked for, before anything is measured."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seqloom.data.file_format import ending
from seqloom.data.reading import Shape
from seqloom.data.settings import Corpus, corpora_of, refuse_other_than_utf_8
from seqloom.jobs.default import default_settings, look
from seqloom.jobs.recipe import Recipe
from seqloom.jobs.recipe_file import find, names
from seqloom.jobs.sizes import SIZES, Size, heads_for, model_of
from seqloom.settings import SettingsError, UserError, dump, load, loads

CHOSEN = "the chosen recipe"
TASK = "task.kind"


@dataclass(frozen=True)
class Command:
    """The words of `seqloom train`."""

    recipe: str | None = None
    data: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    out: Path | None = None
    minutes: float | None = None
    changes: tuple[str, ...] = ()
    force: bool = False
    skip_bad: bool = False


@dataclass(frozen=True)
class Asked:
    """The recipe, and what in it is still open. model_open: its size is to be chosen."""

    recipe: Recipe
    out: Path
    model_open: bool = False
    notes: tuple[str, ...] = field(default=())


def asked(command: Command) -> Asked:
    _refuse(command)
    if command.recipe is not None:
        recipe, notes = load(find(command.recipe), Recipe, command.changes), tuple[str, ...]()
    else:
        recipe, notes = _chosen(command)
    recipe = _with_files(recipe, command)
    if not recipe.data.corpora:
        raise UserError("nothing to train on: name a file with --data, or corpora in the recipe's [data]")
    return Asked(recipe, _out(command, recipe), command.recipe is None, notes)


def _refuse(command: Command) -> None:
    recipe = command.recipe or ""
    if ending(recipe) != ".toml" and recipe not in names() and Path(recipe).is_file():
        raise UserError(f"{recipe}: not a recipe, whose name ends in .toml; if it is data: --data {recipe}")
    if command.minutes is not None and not 0 < command.minutes < math.inf:
        raise UserError(f"--minutes {command.minutes}: a number of minutes above 0 is needed, such as 5")
    if command.out is not None:
        refuse_other_than_utf_8(str(command.out), "name another --out")
    for option, files in ("--data", command.data), ("--valid", command.valid), ("--test", command.test):
        for name in set(files) & set(names()):
            if not Path(name).exists():
                raise UserError(f"{name}: no such file, but a recipe; put the recipe before {option}")


def _with_files(recipe: Recipe, command: Command) -> Recipe:
    """The command line's files and minutes, over the recipe's."""
    data: dict[str, Any] = {}
    for name, files in ("corpora", command.data), ("valid", command.valid), ("test", command.test):
        if files:
            # how the recipe reads what it learns from holds for the other files, if it says nothing of them
            data[name] = corpora_like(files, getattr(recipe.data, name) or recipe.data.corpora)
    if command.skip_bad:
        data["bad"] = "skip"
    training = {} if command.minutes is None else {"minutes": command.minutes}
    return recipe.model_copy(
        update={"data": recipe.data.model_copy(update=data), "training": recipe.training.model_copy(update=training)}
    )


def corpora_like(files: Sequence[str], old: Sequence[Corpus]) -> tuple[Corpus, ...]:
    """Files of the command line; how the recipe reads its first corpus (columns, format) holds for them too."""
    new = corpora_of(files)
    if len(old) != 1:
        return new
    how = old[0].model_dump(exclude={"files", "weight"}, exclude_unset=True)
    try:
        return tuple(Corpus.model_validate({**corpus.model_dump(exclude_unset=True), **how}) for corpus in new)
    except ValidationError as error:
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in how.items())
        why = str(error.errors()[0]["msg"])
        raise UserError(f"{' '.join(files)}: cannot be read as the recipe's [data] says ({said}): {why}") from None


def _out(command: Command, recipe: Recipe) -> Path:
    if command.out is not None:
        return command.out
    first = Path(recipe.data.corpora[0].files[0]).name.split(".")[0] or "stdin"
    return Path("runs") / (first if first != "-" else "stdin")


def _chosen(command: Command) -> tuple[Recipe, tuple[str, ...]]:
    """A sound recipe for the data, of which only the size of the model is open."""
    if not command.data:
        raise UserError("nothing to train on: name a file with --data")
    seen = look(corpora_of(command.data), "skip" if command.skip_bad else "stop", _shape(command.changes))
    settings = default_settings(seen)
    shared = bool(settings["text"].get("shared"))
    recipe = _loaded(
        Recipe.model_validate(settings | {"model": _smallest(seen.shape, shared, command)}), command.changes
    )
    kind, pieces = recipe.task.kind, recipe.text.source.kind
    note = f"no recipe named: the data looks like {kind} ({pieces}); another task: --set task.kind=…, or a recipe"
    return recipe, (note,)


def _smallest(shape: Shape, shared: bool, command: Command) -> dict[str, Any]:
    """A model to begin from; a width that was asked for decides the number of heads."""
    asked_for = [change.partition("=")[2] for change in command.changes if change.startswith("model.width=")]
    size = SIZES[0]
    if asked_for and asked_for[-1].strip().isdecimal():
        width = int(asked_for[-1])
        size = Size(width, size.depth, heads_for(max(width, 1)))
    return model_of(size, shape, 0.1, shared)


def _loaded(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """With its changes; there is no file whose lines a fault could be told by."""
    try:
        return loads(dump(recipe, defaults=False), Recipe, changes, name=CHOSEN)
    except SettingsError as error:
        raise SettingsError(re.sub(rf"^{CHOSEN}:\d+: ", f"{CHOSEN}: ", str(error), flags=re.MULTILINE)) from None


def _shape(changes: Sequence[str]) -> Shape | None:
    """Of the task that was named with --set, if one was."""
    tasks: dict[str, Shape] = {"translate": "pairs", "language": "text", "tag": "tags", "classify": "classes"}
    named = [value.strip(" \"'") for key, _, value in (change.partition("=") for change in changes) if key == TASK]
    return tasks.get(named[-1]) if named else None


def with_model(recipe: Recipe, model: dict[str, Any], changes: Sequence[str]) -> Recipe:
    """The chosen recipe with a model of another size; what was changed by hand stays changed."""
    plain = recipe.model_dump(mode="json", exclude_none=True, exclude_unset=True, exclude={"model"})
    whole = Recipe.model_validate({**_tuples(plain), "model": model})
    return _loaded(whole, changes)


def _tuples(value: Any) -> Any:
    match value:
        case dict():
            return {name: _tuples(inner) for name, inner in value.items()}
        case list():
            return tuple(map(_tuples, value))
        case _:
            return value
