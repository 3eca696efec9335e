"""A process that trains one system, if that is still to be done, and has it answer the test.

It reads a pickled `Work` from its standard input, and says on its standard output why it failed, if it did. When its
input ends, the process that started it is gone: it keeps what it has, as after Ctrl-C.
"""

import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqloom.data.reading import Block, read
from seqloom.evaluation.build import MetricName
from seqloom.evaluation.rolling import ROLLING
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.comparing.result import Facts, Result, current, models_of
from seqloom.jobs.comparing.speed import per_part
from seqloom.jobs.corpora.build import Corpora, corpora, table_notes, text_of, validation_blocks
from seqloom.jobs.deciding.asked import Columns, Command, asked, corpora_like
from seqloom.jobs.deciding.decide import device_of
from seqloom.jobs.evaluating.likelihood import of_pairs
from seqloom.jobs.evaluating.rolling import OF_QUANTILES, errors, kept_back, rolling_metrics, test_of
from seqloom.jobs.evaluating.runs import node_data, sizes_of
from seqloom.jobs.evaluating.said import Data, Said, metrics_of_model, read_data, refuse_other_labels, say, unknown_of
from seqloom.jobs.learning.card import device_words
from seqloom.jobs.model import Model, load
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.train import train
from seqloom.layers.native.library import told_of_waiting, wait_for_all
from seqloom.models import model_cost
from seqloom.settings import FailedError, UserError
from seqloom.store import RunFolder
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.nodes import NodesTask
from seqloom.training.place import Place
from seqloom.training.schedules import ScheduleSettings
from seqloom.training.watch import View, Watcher

FAILED, STOPPED = 1, 130
FEW = 2  # metrics of a task that a table has room for


@dataclass(frozen=True)
class Work:
    """command: a training; None: it is done. runs: those that answer, several together.

    test: its files; none: what was held out of training. changes: how answers are written.
    """

    command: Command | None
    runs: tuple[Path, ...]
    test: tuple[str, ...]
    columns: Columns
    metrics: tuple[MetricName, ...]
    changes: tuple[str, ...]
    device: str
    skip_bad: bool
    view: View
    key: str
    into: Path
    evaluation: EvaluationSettings


def main() -> None:
    # what prints by mistake must not stand in the answer
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    work: Work = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    with suppress(OSError):  # where memory runs out, this process is the one to go
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
    code, why = _guarded(work)
    with suppress(BrokenPipeError):
        answer.write(why)
        answer.close()
    os._exit(code)  # a thread still waits for the input


def _end_with_the_other() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _guarded(work: Work) -> tuple[int, str]:
    """The exit code, and why it failed."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # until here it ended the process
        done(work)
    except KeyboardInterrupt:
        return STOPPED, ""
    except (UserError, FailedError) as error:
        return FAILED, str(error)
    except (MemoryError, torch.OutOfMemoryError):
        return FAILED, "the memory was not enough; set training.batch or the model smaller"
    except Exception as error:  # whatever it is, the other systems have nothing to do with it
        traceback.print_exc()
        return FAILED, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return 0, ""


def done(work: Work) -> None:
    """Train and answer; the result is in its file then. Of one that answered before, what is missing is added."""
    known = current(work.into, work.key, work.runs)
    if known is not None:
        _with_likelihood(work, known).save(work.into)
        return
    corpora = None if work.command is None else _train(work.command, work.view)
    model = load(work.runs, work.device)
    notes = [] if work.command is None else list(_other_schedule(asked(work.command).recipe, model.recipe))
    if isinstance(model.task, ForecastTask):
        _forecasts(work, model, model.task, corpora, notes).save(work.into)
        return
    data = _data(work, model, notes)
    notes += data.skipped.lines()
    names = metrics_of_model(model, data, ())
    if model.task.shape == "pairs":
        names = list(dict.fromkeys([*names[:FEW], "perplexity", "bpc"]))
    refuse_other_labels(model, data, str(work.runs[0]), work.test)
    who = " and ".join(run.name for run in work.runs)
    said = say(model, data, work.metrics or names, work.changes, who, notes.append, work.evaluation)
    Result(
        model.task.shape if data.graph is None else "classes",
        _kept(data.columns),
        unknown_of(model, data),
        names,
        said,
        _facts(work, model, corpora),
        f"{model.recipe.task.model_dump_json()} {model.task.codecs.fingerprint}",
        _machine(work, model.recipe),
        notes,
        work.key,
        models_of(work.runs),
        sizes_of(model, data),
    ).save(work.into)


def _with_likelihood(work: Work, known: Result) -> Result:
    """Answers are kept in any case; how likely the references are is asked where a metric needs it."""
    model = load(work.runs, work.device)
    data = _data(work, model, [])
    likely = of_pairs(model, data.columns[0], data.columns[1], data.places)
    return replace(known, said=replace(known.said, likely=likely))


def _other_schedule(asked_for: Recipe, trained: Recipe) -> Iterator[str]:
    """That it was fitted to the end of the comparison, if it was."""
    own, used = asked_for.training.schedule, trained.training.schedule
    if own != used:
        yield f"its schedule is not the recipe's ({_words(own)}) but one that is fitted to the run ({_words(used)})"


def _words(schedule: ScheduleSettings) -> str:
    warmup = schedule.warmup
    length = f"{warmup:.0%}" if isinstance(warmup, float) else f"{warmup:,} steps"
    return f"{schedule.kind}, warm-up {length}"


def _forecasts(work: Work, model: Model, task: ForecastTask, corpora: Corpora | None, notes: Sequence[str]) -> Result:
    recipe, run = model.recipe, model.opened[0].run
    forecaster = model.forecaster(str(run.path))
    if work.test:
        test = test_of(task, corpora_like(work.test, recipe.data.corpora, work.columns), run, "test")
    else:
        test = kept_back(task, recipe.data)
    every = [name for name in ROLLING if name not in OF_QUANTILES or len(forecaster.levels) > 1]
    found = errors(forecaster, test, every, lambda share: None)
    return Result(
        task.shape,
        [test.blocks],
        None,
        list(rolling_metrics(forecaster.levels, ())),
        Said([], [], None, found),
        _facts(work, model, corpora),
        f"{recipe.task.model_dump_json()} {task.codecs.fingerprint}",
        _machine(work, recipe),
        [*notes, *test.notes],
        work.key,
        models_of(work.runs),
    )


def _machine(work: Work, recipe: Recipe) -> str:
    """That it was trained on, where that was done here; else that answered."""
    if work.command is None:
        return device_words(device_of(work.device))
    count = recipe.training.threads
    return device_words(device_of(recipe.training.device), None if count == "auto" else count)


def _kept(columns: list[list[Any]]) -> list[list[Any]]:
    """As JSON can say it: of a series a few words, enough to show it."""
    return [[text_of(one) if isinstance(one, np.ndarray) else one for one in column] for column in columns]


def _train(command: Command, view: View) -> Corpora:
    """What it was trained on."""
    # who comes first makes vocabularies, caches and kernels for all: that is no matter of the system, and not counted
    recipe = asked(command).recipe
    corpora(recipe)
    if device_of(recipe.training.device).type == "cpu":
        with Watcher(view) as watcher, told_of_waiting(watcher.note):
            wait_for_all()
    found = train(command, view, began=time.monotonic()).corpora
    gc.collect()  # the model, its gradients and the optimiser's state go before the model is loaded
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return found


def _data(work: Work, model: Model, notes: list[str]) -> Data:
    """Of a graph, the nodes that are for the test; else those of the validation, which is noted."""
    if not isinstance(model.task, NodesTask):
        return read_data(_blocks(work, model, notes))
    (corpus,) = model.recipe.data.corpora
    data, note = node_data(model, corpus.files, model.recipe.data.bad)
    notes.append(note)
    return data


def _blocks(work: Work, model: Model, notes: list[str]) -> Iterator[Block]:
    """Of the test; without one, of what the run validated on."""
    recipe, shape = model.recipe, model.task.shape
    if not work.test:
        yield from validation_blocks(recipe)
        return
    if work.command is None:
        files = corpora_like(work.test, recipe.data.corpora, work.columns, shape)
    else:
        files = asked(replace(work.command, test=work.test)).recipe.data.test
    notes += table_notes(files, shape)
    for corpus in files:
        yield from read(corpus, shape, "skip" if work.skip_bad else "stop")


def _facts(work: Work, model: Model, corpora: Corpora | None) -> Facts:
    # not those in memory: to write faster, weights that are shared may have been copied
    parameters = sum(model_cost(one.recipe.model, one.task.sizes()).parameters for one in model.opened)
    numbers = RunFolder(work.runs[0]).checkpoints.numbers() if len(work.runs) == 1 else None
    place = None if numbers is None else Place.of(numbers["place"])
    return Facts.of(parameters, place, per_part(model.task, corpora))
