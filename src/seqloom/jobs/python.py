"""What `import seqloom` gives to Python programs."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from seqloom.jobs.asked import Command
from seqloom.jobs.train import Trained
from seqloom.jobs.train import train as job
from seqloom.training.watch import View

File = str | PathLike[str]


def train(
    recipe: File | None = None,
    *,
    data: File | Sequence[File] = (),
    valid: File | Sequence[File] = (),
    test: File | Sequence[File] = (),
    source: str | int | None = None,
    target: str | int | None = None,
    out: File | None = None,
    minutes: float | None = None,
    changes: Sequence[str] = (),
    force: bool = False,
    skip_bad: bool = False,
    view: View = "auto",
) -> Trained:
    """Train a model on files, as `seqloom train` does; the same call again goes on where it stopped.

    recipe   a recipe's name or a TOML file; without it, one is chosen for the data
    data     one file with columns, or two aligned text files; several files are several corpora
    source   the column of the source in these files: its name, or its number from 1
    target   the column of the target or label, in the same way
    changes  settings to change: ["model.width=128", "training.steps=1000"]
    view     "none": nothing is shown while it trains

    A mistake in the files or in the recipe raises seqloom.settings.UserError.
    """
    return job(
        Command(
            recipe=None if recipe is None else str(recipe),
            data=_files(data),
            valid=_files(valid),
            test=_files(test),
            out=None if out is None else Path(out),
            minutes=minutes,
            changes=tuple(changes),
            force=force,
            skip_bad=skip_bad,
            source=None if source is None else str(source),
            target=None if target is None else str(target),
        ),
        view,
    )


def _files(files: File | Sequence[File]) -> tuple[str, ...]:
    return (str(files),) if isinstance(files, str | PathLike) else tuple(map(str, files))
