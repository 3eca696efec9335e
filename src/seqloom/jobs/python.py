"""What `import seqloom` gives to Python programs."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import ParamSpec, TypeVar

from seqloom.evaluation.report import Report
from seqloom.jobs.check import Checked
from seqloom.jobs.check import check as check_job
from seqloom.jobs.compare import compare as compare_job
from seqloom.jobs.comparing.command import ALL, Compare, budget_of
from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.evaluate import Evaluate
from seqloom.jobs.evaluate import evaluate as evaluate_job
from seqloom.jobs.evaluating.evaluated import Evaluated
from seqloom.jobs.evaluating.score_page import page
from seqloom.jobs.train import train as job
from seqloom.jobs.trained import Trained
from seqloom.settings import FailedError, UserError
from seqloom.training.watch import View

File = str | PathLike[str]
P = ParamSpec("P")
R = TypeVar("R")

OPTION = re.compile(r"--([a-z][a-z-]*)")
OTHERWISE = {"set": "changes", "from": "start"}
"""Options whose argument has another name."""


def _with_arguments(job: Callable[P, R]) -> Callable[P, R]:
    """A message that speaks of options says which arguments these are here."""

    @wraps(job)
    def called(*args: P.args, **more: P.kwargs) -> R:
        try:
            return job(*args, **more)
        except (UserError, FailedError) as error:
            said = (OTHERWISE.get(name, name.replace("-", "_")) for name in OPTION.findall(str(error)))
            here = [f"{name}=" for name in dict.fromkeys(said) if name in signature(job).parameters]
            if here:
                error.args = (f"{error}\n(in Python, arguments: {', '.join(here)})",)
            raise

    return called


@_with_arguments
def train(
    recipe: File | None = None,
    *,
    data: File | Sequence[File] = (),
    valid: File | Sequence[File] = (),
    test: File | Sequence[File] = (),
    source: str | int | None = None,
    target: str | int | None = None,
    out: File | None = None,
    start: File | None = None,
    minutes: float | None = None,
    changes: str | Sequence[str] = (),
    force: bool = False,
    skip_bad: bool = False,
    view: View = "auto",
) -> Trained:
    """Train a model on files, as `seqloom train` does; the same call again goes on where it stopped.

    recipe   a recipe's name or a TOML file; without it, one is chosen for the data
    data     one file with columns, or two aligned text files; several files are several corpora
    source   the column of the source in these files: its name, or its number from 1
    target   the column of the target or label, in the same way
    start    a run to begin from: its weights and its vocabulary
    changes  settings to change: ["model.width=128", "training.steps=1000"]; or a single one
    view     "none": nothing is shown while it trains

    A mistake in the files or in the recipe raises seqloom.settings.UserError.
    """
    command = Command(
        recipe=None if recipe is None else str(recipe), data=_all(data), valid=_all(valid), test=_all(test),
        out=None if out is None else Path(out), minutes=minutes, changes=_all(changes), force=force, skip_bad=skip_bad,
        source=_column(source), target=_column(target), start=None if start is None else Path(start),
    )  # fmt: skip
    return job(command, view)


@_with_arguments
def check(
    data: File | Sequence[File],
    *,
    valid: File | Sequence[File] = (),
    test: File | Sequence[File] = (),
    recipe: File | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    changes: str | Sequence[str] = (),
) -> Checked:
    """Look for faults in files before training on them, as `seqloom check` does. source, target: as of train.

    Shown or printed, the result says what was found and what training would take; `report.faulty` says whether it would
    stop there.
    """
    name = None if recipe is None else str(recipe)
    command = Command(
        name, _all(data), _all(valid), _all(test), changes=_all(changes), source=_column(source), target=_column(target)
    )
    return check_job(command)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How good systems are; shown or printed, all of it."""

    report: Report
    texts: Evaluated
    """what was asked, wanted and said"""
    notes: tuple[str, ...]
    """what should be known of how it went"""

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Of each system, by metric."""
        found: dict[str, dict[str, float]] = {system: {} for system in self.report.systems}
        for each in self.report.measured:
            found[each.system][each.metric.name] = each.score
        return found

    def __repr__(self) -> str:
        return "\n".join([*self.notes, page(self.report, self.texts, "text").rstrip("\n")])


@_with_arguments
def evaluate(
    runs: File | Sequence[File] = (),
    *,
    data: File | Sequence[File] = (),
    hypotheses: File | Sequence[File] = (),
    references: File | Sequence[File] = (),
    sources: File | None = None,
    metrics: str | Sequence[str] = (),
    examples: int = 0,
    changes: str | Sequence[str] = (),
    device: str = "auto",
    skip_bad: bool = False,
    source: str | int | None = None,
    target: str | int | None = None,
    history: File | None = None,
    ensemble: bool | str | Sequence[str] = (),
) -> Evaluation:
    """Score runs on data, or the answers of any systems against references, as `seqloom evaluate` does.

    metrics   such as ["bleu", "chrf"]; without them, those that suit the task
    examples  so many of the worst and of the best are shown
    source    and target: their columns in the data, as of train
    history   what series of numbers were before, for the metric mase
    ensemble  True: the runs also answer together; or the names of some
    changes   settings of [evaluation] and, for runs, of [generation]: ["generation.beam=8"]

    `scores` of the result holds the numbers; the first system is the one that others are compared with.
    """
    command = Evaluate(
        _all(runs),
        _all(data),
        _all(hypotheses),
        _all(references),
        None if sources is None else str(sources),
        _all(metrics),
        examples,
        _all(changes),
        device,
        skip_bad,
        _column(source),
        _column(target),
        None if history is None else str(history),
        () if not ensemble else (ALL,) if ensemble is True else _all(ensemble),
    )
    notes = list[str]()
    report, texts = evaluate_job(command, notes.append)
    return Evaluation(report, texts, tuple(notes))


@_with_arguments
def compare(
    systems: File | Sequence[File],
    *,
    data: File | Sequence[File] = (),
    valid: File | Sequence[File] = (),
    test: File | Sequence[File] = (),
    minutes: float | None = None,
    flops: float | None = None,
    epochs: float | None = None,
    out: File = "runs/compare",
    ensemble: bool | str | Sequence[str] = (),
    baseline: str | None = None,
    metrics: str | Sequence[str] = (),
    changes: str | Sequence[str] = (),
    device: str = "auto",
    force: bool = False,
    skip_bad: bool = False,
    source: str | int | None = None,
    target: str | int | None = None,
    view: View = "auto",
) -> Compared:
    """Train systems at equal cost and score them on the same test, as `seqloom compare` does.

    systems   recipes (names or TOML files) and folders of runs; the same call again goes on where it stopped
    minutes   or flops, or epochs: what each training may cost
    test      what to score on; without it, what is held out of training
    ensemble  True: all systems of one vocabulary also write together; or the names of some
    baseline  the system that others are compared with, or "best"; else the first

    Shown or printed, the result is the table; `scores` holds the numbers, `failed` the rows that have none and why.
    """
    together = () if not ensemble else (ALL,) if ensemble is True else _all(ensemble)
    command = Compare(
        _all(systems), _all(data), _all(valid), _all(test), budget_of(minutes, flops, epochs), Path(out),
        _all(metrics), together, baseline, _all(changes), device, force, skip_bad, _column(source), _column(target),
    )  # fmt: skip
    return compare_job(command, (lambda text: None) if view == "none" else _tell, view)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _column(name: str | int | None) -> str | None:
    return None if name is None else str(name)


def _all(files: File | Sequence[File]) -> tuple[str, ...]:
    """One or several, of whatever is named by a word."""
    return (fspath(files),) if isinstance(files, str | PathLike) else tuple(fspath(one) for one in files)
