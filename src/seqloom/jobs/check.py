"""What is wrong with the data, and what training on it would take: before an hour is spent."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seqloom.data.check import Finding, Report, render
from seqloom.data.check import check as check_data
from seqloom.data.check.report import STOPS
from seqloom.data.check.writing import Writing
from seqloom.data.reading import DataError, read, shape_of, size
from seqloom.data.settings import corpora_of
from seqloom.jobs.check_graph import check_graph
from seqloom.jobs.check_series import check_series
from seqloom.jobs.corpora.build import (
    name_of,
    names_of,
    shortened,
    shown,
    table_notes,
    text_of,
    vocabularies,
)
from seqloom.jobs.corpora.other_form import remedy, settings_of
from seqloom.jobs.corpora.splitting import NoSplitError, held_out
from seqloom.jobs.corpora.too_long import Longest, longest_of
from seqloom.jobs.deciding.asked import Asked, Command, asked, corpora_like
from seqloom.jobs.deciding.chosen import named_shape
from seqloom.jobs.deciding.decide import Decided, decide, device_of
from seqloom.jobs.deciding.plan import about_steps, amount, flops_per_token, passes, throwaway
from seqloom.jobs.learning.vocabulary_doubts import vocabulary_doubts
from seqloom.jobs.memory import bytes_per_token
from seqloom.jobs.progress import bar
from seqloom.models import model_cost
from seqloom.settings import UserError
from seqloom.store import RunFolder
from seqloom.tasks import Forecast, Language, Masked, Nodes, TaskSettings, task_class
from seqloom.text import UNKNOWN, TextSettings, Vocabulary
from seqloom.text.form import target_normalise
from seqloom.training.figures import duration, memory


@dataclass(frozen=True, repr=False)
class Checked:
    """The report, and a forecast of training if the data allows one. notes: how the files were read."""

    report: Report
    forecast: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """As `seqloom check` prints it."""
        return self.text().rstrip("\n")

    def text(self) -> str:
        notes = "".join(f"{line}\n" for line in (*self.notes, "") if self.notes)
        return notes + render(self.report) + "".join(f"{line}\n" for line in ("", *self.forecast) if self.forecast)


def check(command: Command) -> Checked:
    """All faults of a command's files; nothing is trained."""
    for corpus in corpora_of((*command.data, *command.valid, *command.test)):
        _refuse_runs(corpus.files)
        size(corpus)  # a file that is not there is a mistake of the command's, not a fault of the data
    try:
        wish = asked(replace(command, skip_bad=True))
    except DataError:
        return Checked(_bare(command), ())  # what is wrong with the files is what the report says
    if isinstance(wish.recipe.task, Nodes):
        found, notes = check_graph(wish.recipe)
        return Checked(found, _forecast(wish, command.changes, found), (*wish.notes, *notes))
    if isinstance(wish.recipe.task, Forecast):
        found, notes = check_series(wish.recipe)
        return Checked(found, _forecast(wish, command.changes, found), (*wish.notes, *notes))
    data, longest = wish.recipe.data, longest_of(wish.recipe)
    with bar("checking", sum(map(size, (*data.corpora, *data.valid, *data.test)))) as report:
        found = check_data(
            data.corpora,
            data.valid,
            data.test,
            shape=task_class(wish.recipe.task).shape,
            longest=_longest(longest),
            measures=[_Measure(vocabulary) for vocabulary in _vocabularies(wish)],
            readings=wish.recipe.readings,
            running=_runs_on(wish.recipe.task),
            writing=_writing(wish.recipe.text),
            progress=report,
        )
    found.findings[:0] = _unsplittable(wish)
    return Checked(found, _forecast(wish, command.changes, found), tuple(_notes(wish)))


def _writing(text: TextSettings) -> Writing:
    return Writing(target_normalise(text)[0], settings_of(text), remedy(text))


def _refuse_runs(files: Sequence[str]) -> None:
    for file in files:
        if RunFolder(Path(file)).exists():
            raise UserError(
                f"{file}: is a run, not data; name the files that it learnt from, which its recipe.toml tells, "
                f"or score it: seqloom evaluate {file} --data FILE"
            )


def _notes(wish: Asked) -> Iterator[str]:
    data, shape = wish.recipe.data, task_class(wish.recipe.task).shape
    yield from wish.notes
    try:
        yield from table_notes((*data.corpora, *data.valid, *data.test), shape)
        for block in read(data.corpora[0], shape, "skip"):
            for example in zip(*block.columns, strict=True):
                texts = [shortened(text_of(value)) for value in example]
                yield shown(texts[0], texts[1] if len(texts) > 1 else None)
                return
    except DataError:
        return  # a fault of the report already


def _unsplittable(wish: Asked) -> Iterator[Finding]:
    """Data of which nothing can be kept for validation."""
    recipe = wish.recipe
    try:
        if not recipe.data.valid:
            held_out(recipe, vocabularies(recipe).counts, names_of(recipe))
    except NoSplitError as error:
        yield Finding("fault", str(error), "training", 1, 1.0, (), STOPS)
    except UserError:
        return  # data that cannot be read is a fault already


def _bare(command: Command) -> Report:
    """The files alone, where they are too broken to choose a recipe by them."""
    parts = command.data, command.valid, command.test
    named = named_shape(command.changes)
    train, valid, test = (corpora_like(files, (), command.columns, named) if files else () for files in parts)
    try:
        shape = named or shape_of(train[0])
    except DataError:
        shape = "pairs"  # no text at all, which the report says whatever it should have been
    running = shape == "text" and not any(corpus.midi for corpus in train)
    return check_data(train, valid, test, shape=shape, running=running)


def _runs_on(task: TaskSettings) -> bool:
    """Whether the lines of a file are parts of one text."""
    return isinstance(task, Masked) or (isinstance(task, Language) and task.lines == "text")


class _Measure:
    """A vocabulary's view of texts: how many tokens each has, and how many of them are unknown."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, texts: Sequence[str]) -> tuple[list[int], list[int]]:
        values, lengths = self.vocabulary.encode_arrays(texts)
        ends = np.cumsum(lengths)
        unknown = np.concatenate(([0], np.cumsum(values == UNKNOWN)))
        return lengths.tolist(), (unknown[ends] - unknown[ends - lengths]).tolist()


def _longest(limit: Longest | None) -> int:
    """Tokens of an example that is not remarkable."""
    return sys.maxsize if limit is None else limit.tokens  # running text and music are cut into windows, however long


def _vocabularies(wish: Asked) -> list[Vocabulary]:
    """Of each field that is text; none where none can be learnt."""
    try:
        codecs = vocabularies(wish.recipe).codecs
    except UserError:
        return []
    sides = (codecs.source, codecs.target) if task_class(wish.recipe.task).shape == "pairs" else (codecs.source,)
    return [side for side in sides if isinstance(side, Vocabulary)]


def _forecast(wish: Asked, changes: Sequence[str], found: Report) -> tuple[str, ...]:
    """What training would take here; one more fault, if it would stop."""
    if found.faulty:
        return ()
    try:
        decided = decide(wish, changes, lambda text: None, time.monotonic(), measure=True)
    except UserError as error:
        found.findings.insert(0, Finding("fault", str(error), "training", 1, 0.0, (), STOPS))
        return ()
    return tuple(_lines(decided))


def _lines(decided: Decided) -> Iterator[str]:
    recipe, data = decided.recipe, decided.corpora
    training, much, sizes = recipe.training, amount(data), data.task.sizes()
    assert isinstance(training.batch, int)
    device = device_of(training.device)
    work = throwaway(recipe.model, data, device, None, training)
    per_token, fixed = bytes_per_token(work, data.order(training.batch, training.seed))
    parameters = model_cost(recipe.model, sizes).parameters
    yield f"training would be: {recipe.task.kind}, {recipe.model.family}, {parameters:,} parameters"
    graph = isinstance(recipe.task, Nodes)
    whole = isinstance(recipe.task, Nodes) and recipe.task.batches == "whole"
    batch = much.larger if whole else training.batch
    what = "; the graph is one batch" if whole else f" with batches of {batch:,} {'nodes' if graph else 'tokens'}"
    yield f"  memory: about {memory(fixed + per_token * batch)}{what}"
    steps, each = about_steps(training, much, batch), decided.step_seconds
    if steps is not None and each is not None:
        flops = flops_per_token(recipe.model, sizes, much, much.tokens / much.examples) * much.tokens / much.larger
        total = passes(training) * flops * steps * batch * training.accumulate
        yield f"  time: about {duration(steps * each * training.accumulate)} for {steps:,} steps on this {device.type}"
        yield f"  FLOPs: {total:.1e}"
    elif training.minutes is not None and each is not None:
        yield f"  time: {duration(60 * training.minutes)}, about {60 * training.minutes / each:,.0f} steps"
    yield from (f"  {doubt}" for doubt in vocabulary_doubts(recipe, data))
    yield f"  files: {', '.join(name_of(corpus) for corpus in recipe.data.corpora)}"
