"""seqloom, as `seqloom train` and `seqloom predict` run it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import seqloom
from race.copying import alphabet, built, copying_run, language_model, language_run, translator
from race.systems.learning import RATE
from race.work import (  # fmt: skip
    LONGEST,
    Job,
    Sample,
    Told,
    TrainLanguage,
    TrainPairs,
    Turn,
    Write,
    given,
    lines,
    pair_batches,
    windows,
)
from seqloom.data.ragged import Ragged
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.model import Model
from seqloom.layers.layout import Packed
from seqloom.models.output import Output
from seqloom.tasks import Batch, Goals, Side
from seqloom.tasks.losses import sequence_loss
from seqloom.training.freed_memory import keep_freed_memory
from seqloom.training.optimisers import Adam, build_optimiser
from seqloom.training.recorder import Recorder
from seqloom.training.step import Work
from seqloom.training.steps import Begun, Steps

BATCHES = 6  # that steps go round


def ready(job: Job, folder: Path, device: str, engine: str, precision: str) -> Turn:
    match job:
        case TrainPairs():
            return _steps(
                PairsLoss(), built(translator(job.size, job.dropout), job.size.vocabulary), _batches(job), device
            )
        case TrainLanguage():
            model = built(language_model(job.size, job.context, job.dropout), job.size.vocabulary)
            return _steps(_Language(), model, _windows(job), device)
        case Write():
            model = seqloom.load(copying_run(job.size, folder), device=device)
            changes = ['generation.length={kind="mean"}', f'generation.engine="{engine}"']
            changes += [f'generation.precision="{precision}"', f"generation.longest={LONGEST + 1}"]
            changes += [f"generation.batch={job.batch}"] if job.batch == 1 else []
            return _written(model, lines(job), job.batch, answering(model, changes, job.beam))
        case Sample():
            model = seqloom.load(language_run(job, folder), device=device)
            changes = [f"generation.longest={job.tokens}", f'generation.precision="{precision}"']
            write = answering(model, [*changes, "generation.sample={temperature = 1.0}"], None)
            prompts = sample_prompts(job)

            def turn(i: int) -> Told:
                write(prompts)
                return Told(job.streams * job.tokens)

            return turn


def sample_prompts(job: Sample) -> list[str]:
    letters = alphabet(job.size)
    return [
        "".join(letters[(7 * row + 3 * at) % len(letters)] for at in range(job.prompt)) for row in range(job.streams)
    ]


def answering(model: Model, changes: Sequence[str], beam: int | None) -> Callable[[Sequence[str]], list[str]]:
    """Texts in, texts out, as `seqloom predict` writes them."""
    settings = generation_of(model.opened[0], changes, beam)

    def write(texts: Sequence[str]) -> list[str]:
        model.look_over([Question(text) for text in texts])
        asked = [model.prepare(Question(text), number, settings) for number, text in enumerate(texts)]
        said = {number: answers[0].text for number, answers in model.answer(asked, settings, wanted="text")}
        return [said[number] for number in range(len(texts))]

    return write


def _written(model: Model, texts: list[str], batch: int, write: Callable[[Sequence[str]], list[str]]) -> Turn:
    """All at once: it sorts, groups and refills by itself. One after the other where the row says so."""
    tokens = sum(text.count(" ") + 2 for text in texts)

    def turn(i: int) -> Told:
        said = [write([text])[0] for text in texts] if batch == 1 else write(texts)
        return Told(tokens, texts=said)

    return turn


class PairsLoss:
    """The loss of a translation task, without its text."""

    streams = None

    def loss(self, model: nn.Module, batch: Batch, goals: Goals) -> Tensor:
        def run(batch: Batch) -> Output:
            source, target = batch.source, batch.target
            assert source is not None
            assert target is not None
            return model(source.tokens_N, source.layout, target.tokens_N, target.layout)

        return sequence_loss(model, run, batch, goals)


class _Language:
    streams = None

    def loss(self, model: nn.Module, batch: Batch, goals: Goals) -> Tensor:
        def run(batch: Batch) -> Output:
            target = batch.target
            assert target is not None
            return model(target.tokens_N, target.layout)

        return sequence_loss(model, run, batch, goals)


def _steps(task: object, model: nn.Module, batches: list[Batch], device: str) -> Turn:
    """The steps of a run, but for what a run writes down."""
    place = torch.device(device)
    if device == "cpu":
        keep_freed_memory()  # as every run on a CPU does
    model = model.to(place).train()
    precision = torch.bfloat16 if device == "cuda" else None
    work = Work(task, model, Goals(), place, precision, 1, print)  # type: ignore[arg-type]
    optimiser = build_optimiser(Adam(rate=RATE), model)
    largest = max(batch.larger for batch in batches)
    recorder = Recorder(work, optimiser, None, None, largest, print) if device == "cuda" else None
    losses: list[float] = []
    taken = Steps(work, optimiser, None, None, recorder, _fine, lambda step, loss, norm, figures: losses.append(loss))

    def turn(i: int) -> Told:
        batch = batches[i % len(batches)]
        taken.take(Begun(i + 1, 1.0, float("inf"), batch.count, [batch]))
        return Told(batch.count, loss=losses[-1] if losses else None)

    return turn


def _fine(step: Begun, loss: float, norm: float) -> None:
    assert loss == loss, "the loss is no number"


def _batches(job: TrainPairs) -> list[Batch]:
    made = []
    for pairs in pair_batches(job, BATCHES):
        sources, targets = zip(*pairs, strict=True)
        goal = torch.tensor([token for row in targets for token in row])
        made.append(Batch(_Rows(len(pairs)), _side(sources), _side(given(targets)), goal, len(goal)))  # type: ignore[arg-type]
    return made


class _Rows:
    """As many examples as there are rows, of which nobody asks more."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


def _side(rows: Sequence[Sequence[int]]) -> Side:
    values = np.asarray([token for row in rows for token in row], np.int32)
    return Side.of(Ragged.of(values, np.asarray([len(row) for row in rows])))


def _windows(job: TrainLanguage) -> list[Batch]:
    made = []
    for rows_BT in windows(job, BATCHES):
        layout = Packed.of([job.context] * job.rows)
        side = Side(rows_BT[:, :-1].reshape(-1), layout)
        goal = rows_BT[:, 1:].reshape(-1)
        made.append(Batch(_Rows(job.rows), None, side, goal, len(goal)))  # type: ignore[arg-type]
    return made
