"""A demo, from its data to what its model says: made, trained and tested like anybody's own data."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.reading import Block
from seqloom.inspect import alignment, watch_attention
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.deciding.decide import device_of
from seqloom.jobs.demos import Example, Name, make
from seqloom.jobs.demos.write import read, write
from seqloom.jobs.learning.answers import answers, chosen, far_enough
from seqloom.jobs.learning.card import card
from seqloom.jobs.learning.finished import finished
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find
from seqloom.jobs.train import train
from seqloom.jobs.trained import Trained
from seqloom.layers.layout import Packed
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.settings import UserError, load
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, Labels, Vocabulary
from seqloom.training.watch import View

MINUTES: dict[Name, float] = {"dates": 2, "numbers": 3, "phonemes": 5, "digits": 0.5}
TESTING = 0.05  # the share of the time that is left for the test

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Answer:
    """What the model said to an example of the test."""

    example: Example
    text: str
    right: bool


@dataclass(frozen=True)
class Looked:
    """Where the model looked while it wrote an answer: weights_TS, with labels."""

    answer: Answer
    weights_TS: Tensor
    wrote: Sequence[str]
    read: Sequence[str]


@dataclass(frozen=True)
class Shown:
    """All that a demo has to show. looked: None where nothing is written step by step."""

    name: Name
    trained: Trained
    files: dict[str, Path]
    answers: list[Answer]
    looked: Looked | None
    new: bool
    """False: it was trained before."""


def demo(
    name: Name,
    minutes: float | None = None,
    out: Path | None = None,
    seed: int = 1,
    force: bool = False,
    view: View = "auto",
    examples: int | None = None,
) -> Shown:
    """Make the data, train on it, and test; the same again goes on, or only shows what there is.

    examples: that are made to train on, if not all.
    """
    began = time.monotonic()
    minutes = MINUTES[name] if minutes is None else minutes
    run = RunFolder(out or default_out(name, seed))
    before = None if force else _before(run, seed, minutes)
    files = {split: data_folder(run) / f"{split}.tsv" for split in SPLITS}
    if before is None and (force or not run.exists()):
        data = make(name, seed, examples)  # first of all: it may need a package that is not there
        run.create()
        write(data, data_folder(run))
    tested = read(files["test"])
    trained = before or _trained(name, run, files, seed, minutes - (time.monotonic() - began) / 60, force, view)
    said = _answered(trained, tested)
    right = sum(answer.right for answer in said)
    _write_card(trained, {"right, in percent": 100 * right / max(len(said), 1), "examples": len(said)})
    return Shown(name, trained, files, said, _looked(trained, said), before is None)


def default_out(name: Name, seed: int) -> Path:
    return Path("runs") / (f"demo-{name}" if seed == 1 else f"demo-{name}-{seed}")


def data_folder(run: RunFolder) -> Path:
    """Beside the run, as any user's data is."""
    path = run.path if run.path.name.strip(".") else run.path.resolve()  # --out . has no name of its own
    return path.with_name(f"{path.name}-data")


def _before(run: RunFolder, seed: int, minutes: float) -> Trained | None:
    if run.exists():
        there = load(run.recipe, Recipe).training.seed
        if there != seed:
            raise UserError(f"{run.path}: holds a run of seed {there}, not {seed}; name another --out, or use --force")
    return finished(run, minutes)


def _trained(
    name: Name, run: RunFolder, files: dict[str, Path], seed: int, minutes: float, force: bool, view: View
) -> Trained:
    command = Command(
        recipe=str(find(f"demo-{name}")),
        data=(str(files["train"]),),
        valid=(str(files["valid"]),),
        out=run.path,
        minutes=max(0.01, round((1 - TESTING) * minutes, 3)),
        changes=(f"training.seed={seed}",),
        force=force,
    )
    return train(command, view)


def _write_card(trained: Trained, test: dict[str, float]) -> None:
    run, recipe, data = trained.run, trained.recipe, trained.corpora
    device = device_of(recipe.training.device)
    write_text(run.card, card(run, recipe, data, trained.model, trained.place, trained.scores, test, device))


# -- what it says


def _answered(trained: Trained, tested: Sequence[Example]) -> list[Answer]:
    target, said = trained.corpora.task.codecs.target, _said(trained, tested)
    return [Answer(example, text, is_right(example, text, target)) for example, text in zip(tested, said, strict=True)]


def is_right(example: Example, text: str, target: Vocabulary | Labels) -> bool:
    """Whether it is one of the right answers, as the vocabulary can write them."""
    texts = (example.target, *example.also)
    return text in ({target.normalise(one) for one in texts} if isinstance(target, Vocabulary) else texts)


def _said(trained: Trained, tested: Sequence[Example]) -> list[str]:
    task, model, device = trained.corpora.task, trained.model, device_of(trained.recipe.training.device)
    examples = _encoded(trained, tested)
    match task:
        case TranslateTask():
            return answers(task, model, examples, far_enough(examples))
        case ClassifyTask():
            rows = np.array_split(np.arange(len(examples)), max(1, len(examples) // 128))
            batches = [task.batch(examples.take(part)) for part in rows]
            best = [chosen(model, batch, device) for batch in batches]
            return task.labels.decode(torch.cat(best).flatten().tolist())
        case _:
            raise TypeError(f"no demo is a {type(task).__name__}")


def _encoded(trained: Trained, tested: Sequence[Example]) -> Examples:
    columns = [example.source for example in tested], [example.target for example in tested]
    lines = np.arange(len(tested)) + 2  # below the header
    encoded = trained.corpora.task.encode(Block("test.tsv", lines.tolist(), columns))
    return Examples(encoded, np.zeros_like(lines), lines)


# -- where it looked


def _looked(trained: Trained, said: Sequence[Answer]) -> Looked | None:
    """At an example that tells something: right, with letters, not too long to be seen."""
    model, task = trained.model, trained.corpora.task
    if not (isinstance(model, EncoderDecoder) and isinstance(task, TranslateTask)):
        return None
    answer = max(said, key=_telling)
    device = device_of(trained.recipe.training.device)
    read_ids = [*task.codecs.vocabulary.encode([answer.example.source])[0], END]
    wrote_ids = [*task.target.encode([answer.text])[0], END]
    with torch.no_grad(), watch_attention(model.eval()) as seen:
        model(
            torch.tensor(read_ids, device=device),
            Packed.of([len(read_ids)], device=device),
            torch.tensor([BEGIN, *wrote_ids[:-1]], device=device),
            Packed.of([len(wrote_ids)], device=device),
        )
    wrote, was_read = task.target.pieces(wrote_ids[:-1]), task.codecs.vocabulary.pieces(read_ids[:-1])
    return Looked(answer, alignment(seen).cpu(), [*wrote, "∎"], [*was_read, "∎"])


MOST_SEEN = 30  # columns that fit into a terminal


def _telling(answer: Answer) -> tuple[bool, bool, int]:
    source = answer.example.source
    return answer.right, len(source) <= MOST_SEEN, sum(letter.isalpha() for letter in source[:MOST_SEEN])
