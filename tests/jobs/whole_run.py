"""Whole runs, in this process."""

from pathlib import Path
from typing import Any

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.jobs.trained import Trained

QUICK = ("training.steps=3",)


def run_of(*data: str, recipe: str | None = None, out: str = "run", **more: Any) -> Trained:
    changes = tuple(f"{name.replace('__', '.')}={value}" for name, value in more.pop("set", {}).items())
    return train(Command(recipe, data, out=Path(out), changes=changes, **more), view="none")


def run_again(**more: Any) -> Trained:
    return run_of("pairs.tsv", recipe="r.toml", **more)
