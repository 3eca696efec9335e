"""Trains the lecture's model anew, in a few seconds: `python -m seqloom.jobs.lecture.train`."""

import json
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from seqloom.jobs.lecture import RECIPE, WEIGHTS, pairs
from seqloom.jobs.python import train
from seqloom.store import read_tensors

TIMES = 10  # that each sentence stands in the data
DECIMALS = 2


def weights(folder: Path) -> dict[str, Tensor]:
    """By name, rounded."""
    every = "".join(f"{source}\t{target}\n" for source, target in pairs())
    (folder / "pairs.tsv").write_text(every * TIMES, encoding="utf-8")
    (folder / "valid.tsv").write_text(every, encoding="utf-8")
    out = folder / "run"
    changes = ["training.device=cpu", "training.threads=1"]
    train(RECIPE, data=folder / "pairs.tsv", valid=folder / "valid.tsv", out=out, view="none", changes=changes)
    return {name: tensor.mul(10**DECIMALS).round() for name, tensor in read_tensors(out / "model.safetensors").items()}


def text(tensors: dict[str, Tensor]) -> str:
    """JSON, one row of a matrix a line."""
    parts = []
    for name, tensor in tensors.items():
        rows = [_row(row) for row in torch.atleast_2d(tensor)]
        inside = rows[0] if tensor.dim() == 1 else "[\n    " + ",\n    ".join(rows) + "\n  ]"
        parts.append(f"  {json.dumps(name)}: {inside}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _row(row: Tensor) -> str:
    return f"[{', '.join(f'{int(number) / 10**DECIMALS:g}' for number in row.tolist())}]"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        WEIGHTS.write_text(text(weights(Path(made))), encoding="utf-8")
