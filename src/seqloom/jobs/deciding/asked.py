"""From a command's words to a recipe: what was asked for, before anything is measured."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from seqloom.data.file_format import ending, format_by_name
from seqloom.data.graph import looks_like_graph
from seqloom.data.reading import Shape, shape_of, table
from seqloom.data.settings import Corpus, corpora_of, refuse_other_than_utf_8
from seqloom.jobs.corpora.graph import graph_files
from seqloom.jobs.corpora.music_files import with_events
from seqloom.jobs.deciding import rates
from seqloom.jobs.deciding.chosen import Part, chosen, named_shape, named_task
from seqloom.jobs.deciding.default import look
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find, names
from seqloom.jobs.starting.start import Start, start_of
from seqloom.jobs.starting.start_task import of_start
from seqloom.settings import UserError, loads
from seqloom.settings.load import text_of
from seqloom.tasks import Language, Masked, Nodes, task_class

NOTHING = "nothing to train on: name a file with --data"


GRAPHS = "gat"
"""The recipe for a graph, if none is named."""

SHAPED = {"tags": "tag", "classes": "classify", "pairs": "translate"}
"""What a model of text is to do with data of these shapes, if nothing is said."""

Limit = Literal["minutes", "flops", "epochs"]

ENDS = "steps", "epochs", "minutes", "flops"
"""Settings of [training], each of which ends a run."""


@dataclass(frozen=True)
class Budget:
    """What a training may cost, whatever its recipe says of that."""

    limit: Limit
    amount: float


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
    source: str | None = None
    target: str | None = None
    start: Path | None = None
    """Of --from: the run whose weights it begins from."""
    budget: Budget | None = None

    @property
    def columns(self) -> "Columns":
        return Columns(self.source, self.target)


@dataclass(frozen=True)
class Columns:
    """Of the files of a command line, if it names any: --source and --target."""

    source: str | None = None
    target: str | None = None

    def said(self) -> dict[str, str]:
        return {name: value for name, value in (("source", self.source), ("target", self.target)) if value is not None}


NONE = Columns()


@dataclass(frozen=True)
class Asked:
    """The recipe, and what in it is still open. model_open: the model's size; rate_open: the optimiser's rate.

    bounded: its end was set from outside, so that its schedule has to be fitted to it, unless that was set too.
    """

    recipe: Recipe
    out: Path
    model_open: bool = False
    notes: tuple[str, ...] = field(default=())
    rate_open: bool = False
    start: Start | None = None
    bounded: bool = False


def asked(command: Command) -> Asked:
    _refuse(command)
    path = None if command.recipe is None else find(command.recipe)
    graph = path is None and _is_graph(command)
    path = find(GRAPHS) if graph and command.start is None else path
    part = Part() if path is None else Part(str(path), text_of(path))
    start = None if command.start is None else _start(command, command.start)
    if start is not None and graph and isinstance(start.recipe.task, Language | Masked):
        raise UserError(
            f"--from {start.run.path}: {_text_and(' and '.join(command.data), 'a graph')}; leave --from out"
        )
    part = part if start is None else start.completed(part, _task(part, command, start))
    if part.whole:
        recipe, notes = loads(part.text, Recipe, command.changes, part.name), tuple[str, ...]()
        if graph and start is None:
            notes = (f"no recipe named: the data looks like a graph: {GRAPHS}; others: seqloom recipes",)
    else:
        recipe, notes = _chosen(part, command)
    with of_start(start, recipe, command.data):
        recipe = _with_files(recipe, command, part.whole)
        if not part.whole:
            recipe = rates.in_step(recipe, command.changes)
        if not recipe.data.corpora:
            raise UserError(f"{NOTHING}, or corpora in the recipe's [data]")
        recipe = with_events(recipe)
    if start is not None:
        notes = (*notes, *start.notes(recipe))
    elif recipe.text.extend is not None:
        raise UserError("text.extend: there is no vocabulary to extend; begin from a run that has one: --from RUN")
    recipe = _with_headers(recipe) if not part.whole else recipe
    rate_open = rates.chosen(command.changes) and "optimiser" not in part.training()
    bounded = command.budget is not None
    out = _out(command, recipe.data.corpora[0].files)
    return Asked(recipe, out, not part.whole, notes, not part.whole and rate_open, start, bounded)


def _is_graph(command: Command) -> bool:
    """Whether its task is said to be that, or its two files look like one."""
    task = named_task(command.changes)
    if task is not None or command.columns.said() or len(command.data) != 2:
        return task == "nodes"
    return looks_like_graph(*command.data) or looks_like_graph(*reversed(command.data))


def _text_and(name: str, what: str) -> str:
    return f"it is a model of text, and {name} {'are' if ' and ' in name else 'holds'} {what}"


def _start(command: Command, path: Path) -> Start:
    return start_of(path, None if command.force else _out(command, command.data))


def _task(part: Part, command: Command, start: Start) -> str | None:
    """The kind that was asked for; of a model of text, what the data looks like. None: that of the run."""
    asked_for = named_task(command.changes)
    own = part.says().get("task")
    if asked_for is None and isinstance(own, dict):
        asked_for = own.get("kind")
    if asked_for is not None or own is not None or not isinstance(start.recipe.task, Language | Masked):
        return None if asked_for is None else str(asked_for)
    data = part.data(command.changes)
    corpora = corpora_like(command.data, data.corpora, command.columns) if command.data else data.corpora
    seen = look(corpora, "skip" if command.skip_bad else data.bad) if corpora else None
    if seen is not None and seen.shape in ("timeline", "series"):
        what = "numbers in time" if seen.shape == "timeline" else "series of readings"
        raise UserError(
            f"--from {start.run.path}: {_text_and(corpora[0].files[0], what)}; leave --from out, or have "
            f"the numbers read as text: --set task.kind={start.recipe.task.kind}"
        )
    return None if seen is None or seen.labels_first else SHAPED.get(seen.shape)


def _chosen(part: Part, command: Command) -> tuple[Recipe, tuple[str, ...]]:
    data = part.data(command.changes)
    shape = named_shape(command.changes)
    corpora = corpora_like(command.data, data.corpora, command.columns, shape) if command.data else data.corpora
    if not corpora:
        raise UserError(NOTHING if command.recipe is None else f"{NOTHING}, or corpora in the recipe's [data]")
    return chosen(part, corpora, "skip" if command.skip_bad else data.bad, command.changes)


def _alone(file: str) -> Corpus:
    return Corpus(files=(file,))


def _with_headers(recipe: Recipe) -> Recipe:
    """A header that was recognised in the first file is one in the others too, which may be too small to tell."""
    shape, data = task_class(recipe.task).shape, recipe.data
    first = table(data.corpora[0], shape)
    if first is None or not first.guessed:
        return recipe

    def like_it(corpus: Corpus) -> Corpus:
        found = table(corpus, shape)
        same = found is not None and not found.header and corpus.header is None and found.first == first.first
        return corpus.model_copy(update={"header": True}) if same else corpus

    files = {name: tuple(map(like_it, getattr(data, name))) for name in ("corpora", "valid", "test")}
    return recipe.model_copy(update={"data": data.model_copy(update=files)})


def _refuse(command: Command) -> None:
    recipe = command.recipe or ""
    if ending(recipe) != ".toml" and recipe not in names() and Path(recipe).is_file():
        raise UserError(f"{recipe}: not a recipe, whose name ends in .toml; if it is data: --data {recipe}")
    if command.minutes is not None and not 0 < command.minutes < math.inf:
        raise UserError(f"--minutes {command.minutes}: a number of minutes above 0 is needed, such as 5")
    if command.columns.said() and not (command.data or command.valid or command.test):
        raise UserError("--source and --target are columns of the files of --data, --valid and --test; name some")
    if command.start is not None and command.out is not None and command.out.resolve() == command.start.resolve():
        raise UserError(f"--from {command.start}: is --out too; name another --out, as the run would be written over")
    if command.out is not None:
        refuse_other_than_utf_8(str(command.out), "name another --out")
    for option, files in ("--data", command.data), ("--valid", command.valid), ("--test", command.test):
        for name in set(files) & set(names()):
            if not Path(name).exists():
                raise UserError(f"{name}: no such file, but a recipe; put the recipe before {option}")


def _with_files(recipe: Recipe, command: Command, whole: bool) -> Recipe:
    """The command line's files and minutes, over the recipe's. whole: a recipe that was chosen has its corpora."""
    data: dict[str, Any] = {}
    for name, files in ("corpora", command.data), ("valid", command.valid), ("test", command.test):
        if files and (whole or name != "corpora"):
            # how the recipe reads what it learns from holds for the other files, if it says nothing of them
            data[name] = _corpora(files, recipe, getattr(recipe.data, name) or recipe.data.corpora, command.columns)
    if command.skip_bad:
        data["bad"] = "skip"
    training: dict[str, float | None] = {} if command.minutes is None else {"minutes": command.minutes}
    said = {change.partition("=")[0].strip() for change in command.changes}
    ends = {f"training.{name}" for name in ENDS}
    if said & (ends - {"training.minutes"}):
        # who names an end does not mean that of the recipe as well; minutes are the most that it may take
        training = dict.fromkeys(name for name in ENDS if f"training.{name}" not in said) | training
    if command.budget is not None:
        training = {**dict.fromkeys(ENDS), command.budget.limit: command.budget.amount}
    return recipe.model_copy(
        update={"data": recipe.data.model_copy(update=data), "training": recipe.training.model_copy(update=training)}
    )


def _corpora(files: Sequence[str], recipe: Recipe, old: Sequence[Corpus], columns: Columns) -> tuple[Corpus, ...]:
    if isinstance(recipe.task, Nodes):
        return graph_files(files)
    return corpora_like(files, old, columns, task_class(recipe.task).shape)


def corpora_like(
    files: Sequence[str], old: Sequence[Corpus], columns: Columns = NONE, shape: Shape | None = None
) -> tuple[Corpus, ...]:
    """Files of the command line; how the recipe reads all its corpora (columns, format) holds for them too.

    shape: of the task, where that is known: of texts alone two files are no pairs.
    """
    new = corpora_of(files)
    if shape == "text":
        new = tuple(one for corpus in new for one in ([corpus] if corpus.midi else map(_alone, corpus.files)))
    hows = [corpus.model_dump(exclude={"files", "weight"}, exclude_unset=True) for corpus in old]
    how = hows[0] if hows and all(other == hows[0] for other in hows) else {}
    if columns.said():
        if "format" not in how:
            _refuse_plain(new, columns)
        how = how | columns.said()
    try:
        return tuple(Corpus.model_validate({**corpus.model_dump(exclude_unset=True), **how}) for corpus in new)
    except ValidationError as error:
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in how.items())
        why = str(error.errors()[0]["msg"])
        raise UserError(f"{' '.join(files)}: cannot be read as the recipe's [data] says ({said}): {why}") from None


def _refuse_plain(corpora: Sequence[Corpus], columns: Columns) -> None:
    for name, value in columns.said().items():
        for corpus in corpora:
            if not value or len(corpus.files) == 2 or shape_of(corpus) == "text":
                why = "plain text has no columns" if value else "a column's name or number is needed, such as 2"
                raise UserError(f"--{name} {value}: {' and '.join(corpus.files)}: {why}")


def _out(command: Command, files: Sequence[str]) -> Path:
    if command.out is not None:
        return command.out
    file = Path(files[0] if files else "")
    # one MIDI file of many is no name for them all
    file = file.resolve().parent if len(files) > 2 and format_by_name(file.name) == "midi" else file
    first = file.name.split(".")[0] or "stdin"
    return Path("runs") / (first if first != "-" else "stdin")
