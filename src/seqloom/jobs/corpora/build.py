"""A recipe's files → vocabularies and caches, each made once."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from seqloom.data.building import Building, digest
from seqloom.data.cache import Cache
from seqloom.data.order import Order, Weighted
from seqloom.data.prepare import NAMES, Fit, HeldOut, Prepared, content, prepare
from seqloom.data.ragged import Values
from seqloom.data.reading import Block, Shape, fingerprint, quoted_rows, read, size, table
from seqloom.data.reading.stored_file import shown_all
from seqloom.data.readings import Readings, series_text
from seqloom.data.series_faults import read_fitting
from seqloom.data.settings import Corpus, DataSettings
from seqloom.jobs.corpora.graph import graph_corpora
from seqloom.jobs.corpora.other_form import other_form_note
from seqloom.jobs.corpora.pictures import pixels, refuse_other_form, refuse_unknown_in
from seqloom.jobs.corpora.series import series_corpora
from seqloom.jobs.corpora.splitting import Count, NoSplitError, held_out
from seqloom.jobs.corpora.too_long import keeping, longest_of
from seqloom.jobs.corpora.unread import refuse_unread
from seqloom.jobs.corpora.vector_words import vector_words
from seqloom.jobs.progress import Report, bar
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.music import event_words
from seqloom.settings import UserError
from seqloom.settings.cache_folder import cache_folder
from seqloom.settings.words import counted
from seqloom.tasks import Codecs, Forecast, Known, Music, Nodes, Task, build_task, learn, task_class
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.settings import TaskSettings
from seqloom.text import END, Labels, Vocabulary

FORMAT = 6  # of vocabularies in the cache
LARGE = 200_000_000  # bytes


SHOWN = 60  # letters of an example


@dataclass(frozen=True)
class Vocabularies:
    """Vocabularies, and what each training corpus holds."""

    codecs: Codecs
    counts: tuple[Count, ...]


@dataclass(frozen=True)
class Corpora:
    """All examples of a run, ready to be read."""

    task: Task
    train: tuple[Weighted, ...]
    valid: tuple[Cache, ...]
    test: tuple[Cache, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def examples(self) -> int:
        return sum(len(part.cache) for part in self.train)

    def order(self, budget: int, seed: int) -> Order:
        """The batches of training."""
        task = self.task
        return Order(self.train, budget, seed, task.reshape, task.marks, task.joined, task.streams)

    def tokens(self, column: str) -> int:
        """In an epoch: a corpus counts as often as it is seen."""
        return round(sum(part.weight * part.cache.totals.tokens.get(column, 0) for part in self.train))

    @property
    def rows(self) -> int:
        """Examples of an epoch."""
        return round(sum(part.weight * len(part.cache) for part in self.train))


def first_example(data: Corpora) -> tuple[str, str | None]:
    """As it was read: to see whether it is what was meant. Shortened; the second side is None for running text."""
    cache = next(part.cache for part in data.train if len(part.cache))
    columns, codecs = cache.read([0])[0].columns, data.task.codecs
    row, sides = 0, []
    if isinstance(data.task, MaskedTask):  # the end of a document, a mark alone, tells nothing
        texts = columns["target"]
        row = next((row for row in range(len(texts)) if texts[row].tolist() != [END]), 0)
    for name, codec in ("source", codecs.source), ("target", codecs.target):
        if name in columns:
            sides.append(_said(codec, columns[name][row]))
    return shortened(sides[0]), shortened(sides[1]) if len(sides) > 1 else None


def _said(codec: Vocabulary | Labels | Readings, row: Values) -> str:
    if isinstance(codec, Readings):
        return series_text(codec.decode(row), codec.columns)
    ids = [id for id in row.tolist() if 0 <= id < len(codec)]  # no letters behind words
    return " ".join(codec.decode(ids)) if isinstance(codec, Labels) else codec.decode(ids)


def text_of(value: Any) -> str:
    """A field of an example as text: words with spaces between them, a series in a few words."""
    if isinstance(value, np.ndarray):
        return series_text(value)
    return value if isinstance(value, str) else " ".join(value)


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def shown(source: str, target: str | None) -> str:
    return f"the first example: {source!r}" + ("" if target is None else f" → {target!r}")


def table_notes(corpora: Sequence[Corpus], shape: Shape) -> Iterator[str]:
    """What was guessed of tables: a header, and which columns are read."""
    for corpus in dict.fromkeys(corpora):
        found = table(corpus, shape)
        yield from found.notes() if found is not None else ()


def name_of(corpus: Corpus) -> str:
    return named(corpus.files)


def names_of(recipe: Recipe) -> str:
    return ", ".join(map(name_of, recipe.data.corpora))


def named(files: Sequence[str]) -> str:
    return shown_all(files)


def fingerprints(data: DataSettings) -> dict[str, str]:
    return {name_of(corpus): fingerprint(corpus) for corpus in (*data.corpora, *data.valid)}


def corpora(recipe: Recipe, given: Codecs | Known | None = None) -> Corpora:
    """given: codecs to take as they are, or what of another run's is known; None: they are learnt."""
    data = recipe.data
    if isinstance(recipe.task, Nodes):
        graph = graph_corpora(recipe, given if isinstance(given, Codecs) else None)
        return Corpora(graph.task, graph.train, graph.valid, graph.test, graph.files, graph.notes)
    if isinstance(recipe.task, Forecast):
        scales = None if given is None else given.scales
        found = series_corpora(recipe.task, data.corpora, data.valid, data.test, scales)
        kept = ("--skip-bad: no row of a series can be left out; what is wrong stops",) if data.bad == "skip" else ()
        return Corpora(found.task, found.train, found.valid, found.test, found.files, (*found.notes, *kept))
    known = vocabularies(recipe, given)
    task = build_task(recipe.task, known.codecs, recipe.model.family)
    inner = [None] * len(data.corpora) if data.valid else held_out(recipe, known.counts, names_of(recipe))
    train = [_prepared(recipe, task, corpus, held) for corpus, held in zip(data.corpora, inner, strict=True)]
    valid = [_prepared(recipe, task, corpus) for corpus in data.valid]
    test = [_prepared(recipe, task, corpus) for corpus in data.test]
    rest = [part.held_out for part in train if part.held_out is not None]
    made = Corpora(
        task,
        tuple(Weighted(part.examples, part.corpus.weight) for part in train),
        tuple(part.examples for part in valid) or tuple(rest),
        tuple(part.examples for part in test),
        tuple(name_of(corpus) for corpus in data.corpora),
        tuple(_notes(recipe, [*train, *valid, *test], task.shape, given is not None)),
    )
    _refuse_empty(made, recipe, train, valid, test)
    _refuse_one_class(known.codecs.target, task.shape, names_of(recipe))
    if isinstance(known.codecs.source, Readings):
        refuse_other_form(recipe.model, known.codecs.source)
    else:
        for part in (*train, *valid, *test):
            refuse_unknown_in(recipe.model, name_of(part.corpus), part.examples, part.held_out)
    for parts, what in (valid, "validate"), (test, "test"):
        _refuse_unseen(parts, what)
    if task.shape in ("classes", "series"):
        _refuse_single_labels(train)
    if isinstance(given, Known):
        caches = [part.examples for part in train]
        made = replace(made, notes=(*made.notes, *refuse_unread(names_of(recipe), known.codecs, given, caches)))
    return made


def _refuse_one_class(labels: Vocabulary | Labels, shape: Shape, names: str) -> None:
    if isinstance(labels, Labels) and len(labels) == 1:
        only, apart = labels.names[0], "so that there is nothing to tell apart; is it the right column? Otherwise add"
        if shape == "tags":
            raise UserError(f"{names}: all words to train on have one tag, {only!r}, {apart} words with another tag")
        raise UserError(
            f"{names}: all examples to train on are of one class, {only!r}, {apart} examples of another class"
        )


def _refuse_unseen(parts: Sequence[Prepared], what: str) -> None:
    """Scores of which nothing could be right."""
    unseen = [name for part in parts for name in part.labels.names]
    if unseen and not sum(part.labels.known for part in parts):
        names = ", ".join(name_of(part.corpus) for part in parts)
        raise UserError(
            f"{names}: nothing to {what} on: training sees none of its labels ({', '.join(unseen[:NAMES])}); "
            "are the names the same, and is it the right column?"
        )


def _refuse_single_labels(parts: Sequence[Prepared]) -> None:
    """The same of what is held out, where the label is most often of one example alone."""
    held_out = sum(len(part.held_out) for part in parts if part.held_out is not None)
    unseen = [name for part in parts for name in part.labels.names]
    if held_out and sum(part.labels.unseen for part in parts) >= held_out:
        names = ", ".join(name_of(part.corpus) for part in parts)
        raise UserError(
            f"{names}: nothing to validate on: no label that is held out ({', '.join(unseen[:NAMES])}) "
            "stands at another example; is it the right column? Otherwise name examples of the others with --valid FILE"
        )


def _refuse_empty(
    made: Corpora, recipe: Recipe, train: Sequence[Prepared], valid: Sequence[Prepared], test: Sequence[Prepared]
) -> None:
    def told(what: str, parts: Sequence[Prepared]) -> UserError:
        return UserError("\n".join([what, *made.notes, *keeping(recipe, parts)]))

    if not made.examples:
        raise told(f"{', '.join(made.files)}: no example is left to train on", train)
    for part in test:
        if not len(part.examples):
            raise told(f"{name_of(part.corpus)}: no example is left to test on", [part])
    # of running text each token but the first is a goal
    running = longest_of(recipe) is None
    goals = [cache.totals.tokens.get("target", 0) - 1 if running else len(cache) for cache in made.valid]
    if max(goals, default=0) < 1:
        files = ", ".join(map(name_of, recipe.data.valid or recipe.data.corpora))
        fix = "" if recipe.data.valid else "; give more, or a file of their own: --valid FILE"
        raise told(f"{files}: no example is left to validate on{fix}", valid)


def vocabularies(recipe: Recipe, given: Codecs | Known | None = None) -> Vocabularies:
    """given: what is known of them already."""
    shape, data = task_class(recipe.task).shape, recipe.data
    facts: list[Any] = [FORMAT, shape, recipe.text.model_dump(mode="json"), data.bad]
    facts += [content(corpus, shape) for corpus in data.corpora]
    facts += [] if data.valid else [data.held_out, data.held_out_most, recipe.task.model_dump(mode="json")]
    more = pixels(recipe.model) or vector_words(recipe) or events_of(recipe.task)
    facts += [] if given is None else [type(given).__name__, given.fingerprint]
    facts += [more] if more else []
    facts += [recipe.readings.model_dump(mode="json")] if shape == "series" else []
    folder = cache_folder() / "vocabularies" / digest(facts)
    if not folder.exists():
        with Building(folder) as partial, bar("learning the vocabulary", sum(map(size, data.corpora))) as report:
            blocks = _Counted(data, shape, report, isinstance(recipe.task, Music))
            if not isinstance(given, Codecs):
                read_training = _nothing if isinstance(recipe.task, Music) else _training(recipe, blocks)
                given = learn(recipe.text, shape, read_training, more, given or Known(), recipe.readings, data.bad)
            given.save(partial)
            counts = json.dumps([asdict(count) for count in blocks.all()])
            (partial / "counts.json").write_text(counts, encoding="utf-8")
    try:
        kept = json.loads((folder / "counts.json").read_text(encoding="utf-8"))
        return Vocabularies(Codecs.load(folder), tuple(Count(**count) for count in kept))
    except (OSError, ValueError, TypeError, UserError) as error:
        raise UserError(f"{folder}: cannot be read ({error}); remove this folder, it will be made again") from None


def events_of(task: TaskSettings) -> str:
    """All events that music is written with, whether training sees them or not; "" for other tasks."""
    return " ".join(event_words(task.events)) if isinstance(task, Music) else ""


def _nothing() -> Iterator[Block]:
    return iter(())


def _training(recipe: Recipe, blocks: "_Counted") -> Callable[[], Iterator[Block]]:
    """The blocks without what is held out, so that a validation meets words that no vocabulary was made of.

    What is held out is known only when all has been counted; of large data it is too little to be worth reading twice.
    """
    data, shape = recipe.data, blocks.shape
    if data.valid or sum(map(size, data.corpora)) > LARGE:
        return blocks
    try:
        held = held_out(recipe, blocks.all(), names_of(recipe))
    except NoSplitError:  # which will be told when examples are split
        return blocks

    def read_training() -> Iterator[Block]:
        before = [0] * len(held)
        for number, block in blocks.numbered():
            block, mask, before[number] = held[number].split(block, shape, before[number])
            yield block.take(np.flatnonzero(~mask).tolist())

    return read_training


def validation_blocks(recipe: Recipe) -> Iterator[Block]:
    """What training is watched with, as it stands in the files: of their own, or held out of those of training."""
    data, shape, known = recipe.data, task_class(recipe.task).shape, vocabularies(recipe)
    form = known.codecs.source.form if isinstance(known.codecs.source, Readings) else None
    if data.valid:
        for corpus in data.valid:
            yield from read_fitting(corpus, shape, data.bad, form)
        return
    for corpus, held in zip(data.corpora, held_out(recipe, known.counts, names_of(recipe)), strict=True):
        before = 0
        for block in read_fitting(corpus, shape, data.bad, form):
            block, mask, before = held.split(block, shape, before)
            yield block.take(np.flatnonzero(mask).tolist())


class _Counted:
    """The blocks of all training corpora, as often as asked for; and what each corpus holds."""

    def __init__(self, data: DataSettings, shape: Shape, report: Report, mixed: bool = False) -> None:
        self.data, self.shape, self.report, self.mixed = data, shape, report, mixed
        self.counts: list[Count] | None = None

    def __call__(self) -> Iterator[Block]:
        return (block for _, block in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Block]]:
        """Each with the number of its corpus."""
        counts = [Count() for _ in self.data.corpora]
        for number, corpus in enumerate(self.data.corpora):
            for block in read(corpus, self.shape, self.data.bad):
                counts[number].add(block, self.shape, self.mixed)
                self.report(block.bytes)
                yield number, block
        self.counts = counts

    def all(self) -> list[Count]:
        """Not every vocabulary reads the text, or all of it."""
        if self.counts is None:
            deque(self.numbered(), maxlen=0)
        assert self.counts is not None
        return self.counts


def _prepared(recipe: Recipe, task: Task, corpus: Corpus, held_out: HeldOut | None = None) -> Prepared:
    longest = longest_of(recipe)
    data = recipe.data
    fit = Fit(data.bad, None if longest is None else longest.tokens, data.too_long, data.longest_source)
    key = [task.codecs.fingerprint, recipe.task.model_dump(mode="json")]
    with bar(f"reading {name_of(corpus)}", size(corpus)) as report:
        return prepare(corpus, task.shape, task.encoder, fit, key, held_out, report)


def _notes(recipe: Recipe, parts: Sequence[Prepared], shape: Shape, taken: bool) -> Iterator[str]:
    read_from = [part.corpus for part in parts]
    yield from table_notes(read_from, shape)
    yield from (found.note() for corpus in dict.fromkeys(read_from) if (found := quoted_rows(corpus, shape)))
    for part in parts:
        name = name_of(part.corpus)
        yield from (f"{name}: {line}" for line in part.skipped.lines())
        if part.too_long:
            done = "cut" if recipe.data.too_long == "truncate" else "left out"
            limit = longest_of(recipe)
            assert limit is not None
            source = recipe.data.longest_source
            other = "" if source is None else f", or the source than {source} (data.longest_source)"
            yield f"{name}: {part.too_long:,} {done}: longer than {limit.tokens} tokens ({limit.setting}){other}"
        if part.labels.unseen:
            names = ", ".join(part.labels.names) + (", …" if len(part.labels.names) == NAMES else "")
            yield f"{name}: {counted(part.labels.unseen, 'label')} that training never sees ({names}): counted as wrong"
    form = other_form_note([part.other_form for part in parts], recipe.text, taken)
    yield from () if form is None else (form,)
