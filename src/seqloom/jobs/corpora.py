"""A recipe's files → vocabularies and caches, each made once."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.data.cache import Cache
from seqloom.data.cache_folder import cache_folder
from seqloom.data.order import Weighted
from seqloom.data.prepare import Building, Fit, HeldOut, Prepared, digest, prepare
from seqloom.data.reading import Block, Shape, fingerprint, read, size
from seqloom.data.settings import Corpus, DataSettings
from seqloom.jobs.progress import bar
from seqloom.jobs.recipe import Recipe
from seqloom.layers.positions import Learned
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.tasks import Codecs, Task, build_task, learn, task_class

FORMAT = 1  # of vocabularies in the cache


@dataclass(frozen=True)
class Vocabularies:
    """Vocabularies, and how many examples each training corpus holds."""

    codecs: Codecs
    examples: tuple[int, ...]


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

    def tokens(self, column: str) -> int:
        return sum(part.cache.totals.tokens.get(column, 0) for part in self.train)


def name_of(corpus: Corpus) -> str:
    return " and ".join(corpus.files)


def fingerprints(data: DataSettings) -> dict[str, str]:
    return {name_of(corpus): fingerprint(corpus) for corpus in (*data.corpora, *data.valid)}


def corpora(recipe: Recipe) -> Corpora:
    data = recipe.data
    known = _vocabularies(recipe)
    task = build_task(recipe.task, known.codecs)
    total = sum(known.examples)
    share = min(data.held_out, data.held_out_most / max(total, 1)) if task.shape != "text" else data.held_out
    inner = [None if data.valid else HeldOut(share, count) for count in known.examples]
    train = [_prepared(recipe, task, corpus, held) for corpus, held in zip(data.corpora, inner, strict=True)]
    valid = [_prepared(recipe, task, corpus) for corpus in data.valid]
    test = [_prepared(recipe, task, corpus) for corpus in data.test]
    held_out = [part.held_out for part in train if part.held_out is not None]
    made = Corpora(
        task,
        tuple(Weighted(part.examples, part.corpus.weight) for part in train),
        tuple(part.examples for part in valid) or tuple(held_out),
        tuple(part.examples for part in test),
        tuple(name_of(corpus) for corpus in data.corpora),
        tuple(_notes(recipe, [*train, *valid, *test])),
    )
    _refuse_empty(made, recipe)
    return made


def _refuse_empty(made: Corpora, recipe: Recipe) -> None:
    if not made.examples:
        raise UserError(f"{', '.join(made.files)}: no example is left to train on\n" + "\n".join(made.notes))
    if not sum(map(len, made.valid)):
        raise UserError(
            f"{', '.join(made.files)}: too few examples ({made.examples}) to keep some for validation; "
            "give more, or a file of their own: --valid FILE"
        )


def _vocabularies(recipe: Recipe) -> Vocabularies:
    shape, data = task_class(recipe.task).shape, recipe.data
    facts: list[Any] = [FORMAT, shape, recipe.text.model_dump(mode="json"), data.bad]
    facts += [
        [fingerprint(corpus), corpus.model_dump(mode="json", exclude={"weight", "files"})] for corpus in data.corpora
    ]
    folder = cache_folder() / "vocabularies" / digest(facts)
    if not folder.exists():
        counts = [0] * len(data.corpora)
        with Building(folder) as partial, bar("learning the vocabulary", sum(map(size, data.corpora))) as report:

            def blocks() -> Iterator[Block]:
                counts[:] = [0] * len(counts)
                for number, corpus in enumerate(data.corpora):
                    for block in read(corpus, shape, data.bad):
                        counts[number] += len(block.lines)
                        report(block.bytes)
                        yield block

            learn(recipe.text, shape, blocks).save(partial)
            (partial / "examples.json").write_text(json.dumps(counts), encoding="utf-8")
    counts = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    return Vocabularies(Codecs.load(folder), tuple(counts))


def _prepared(recipe: Recipe, task: Task, corpus: Corpus, held_out: HeldOut | None = None) -> Prepared:
    longest = None if task.shape == "text" else longest_of(recipe)
    fit = Fit(recipe.data.bad, longest, recipe.data.too_long)
    key = [task.codecs.fingerprint, recipe.task.model_dump(mode="json")]
    with bar(f"reading {name_of(corpus)}", size(corpus)) as report:
        return prepare(corpus, task.shape, task.columns, task.encode, fit, key, held_out, report)


def longest_of(recipe: Recipe) -> int:
    """The longest side that data and model allow; a model's positions are also taken by a mark for begin or end."""
    return min([recipe.data.longest, *(positions - 1 for positions in _positions(recipe.model))])


def _positions(model: ModelSettings) -> Iterator[int]:
    for name in ("encoder", "decoder"):
        if name in model.family:
            positions = model.side("encoder" if name == "encoder" else "decoder").positions
            if isinstance(positions, Learned):
                yield positions.length


def _notes(recipe: Recipe, parts: Sequence[Prepared]) -> Iterator[str]:
    for part in parts:
        name = name_of(part.corpus)
        yield from (f"{name}: {line}" for line in part.skipped.lines())
        if part.too_long:
            done = "cut" if recipe.data.too_long == "truncate" else "left out"
            yield f"{name}: {part.too_long:,} {done}: longer than {longest_of(recipe)} tokens (data.longest)"


def shape_of(recipe: Recipe) -> Shape:
    return task_class(recipe.task).shape
