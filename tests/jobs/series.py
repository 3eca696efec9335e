"""Small tables of series, and a recipe that learns them in a moment."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.model import load
from seqloom.jobs.predict_series import AskingSeries, predict_series
from seqloom.jobs.train import train
from seqloom.jobs.trained import Trained

RECIPE = """
[task]
kind = "forecast"
look_back = 24
horizon = 6

[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "attention", heads = 2 }
feed_forward = { kind = "dense", width = 16 }
norm = { kind = "layer", place = "pre" }
positions = { kind = "sinusoidal" }
input = { kind = "patches", length = 4, stride = 2, fill = "last" }
output = { kind = "horizon", quantiles = [0.1, 0.5, 0.9] }

[training]
steps = 4
batch = 2048
threads = 1
optimiser = { kind = "adam", rate = 0.01 }
schedule = { kind = "constant" }
best = "mse"
validate_every = 2
"""


def write_series(
    path: Path,
    steps: int = 200,
    shops: Sequence[str] = (),
    begin: str = "2024-01-01",
    after: int = 0,
    known: bool = False,
) -> Path:
    """Two columns that turn with the day. after: steps behind `begin`. known: one more, that tells the phase."""
    header = ["date", *(["shop"] if shops else []), "warm", "wet", *(["phase"] if known else [])]
    lines = [",".join(header)]
    first = datetime.fromisoformat(begin)
    for shop in shops or ("",):
        for step in range(after, after + steps):
            turn = 2 * math.pi * step / 24
            row = [str(first + timedelta(hours=step)), *([shop] if shops else [])]
            row += [
                f"{10 + len(shop) + 0.01 * step + 3 * math.sin(turn):.4f}",
                f"{100 * math.cos(turn) + step % 7:.3f}",
            ]
            row += [f"{step % 24}"] if known else []
            lines.append(",".join(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_forecaster(path: Path, more: str = "") -> Path:
    path.write_text(RECIPE.replace("[model]", f"{more}\n[model]"), encoding="utf-8")
    return path


def learn(out: str = "run", data: tuple[str, ...] = ("a.csv",), recipe: str | None = "r.toml", **more: Any) -> Trained:
    changes, view = tuple(more.pop("changes", ())), more.pop("view", "none")
    return train(Command(recipe, data, out=Path(out), changes=changes, **more), view=view)


def asked(file: str = "a.csv", folder: str = "run", **more: Any) -> tuple[str, list[str]]:
    """What a run forecasts of a file, and what was told."""
    notes = list[str]()
    predict_series(load(folder), AskingSeries(file, out=Path("out.txt"), force=True, **more), notes.append)
    return Path("out.txt").read_text(encoding="utf-8"), notes
