"""Small tasks and models for tests, and the loss by hand: padded rows, plain torch, float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.data.reading import Block, Shape
from seqloom.layers.layout import Padded
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Task, TaskSettings, build_task, learn
from seqloom.text import TextSettings

WORDS = TextSettings.model_validate({"source": {"kind": "words"}})
CHARACTERS = TextSettings.model_validate({"source": {"kind": "characters"}})


def block(*columns: Sequence[Any]) -> Block:
    return Block("made.tsv", range(1, len(columns[0]) + 1), tuple(map(list, columns)))


def task_of(settings: TaskSettings, shape: Shape, text: TextSettings, *columns: Sequence[Any]) -> Task:
    return build_task(settings, learn(text, shape, lambda: iter([block(*columns)])))


def encoded(task: Task, *columns: Sequence[Any]) -> Examples:
    count = len(columns[0])
    return Examples(task.encode(block(*columns)), np.zeros(count, np.int64), np.arange(1, count + 1))


def model_for(task: Task, family: str, output: Any = "tokens", dropout: float = 0.0, **more: Any) -> Model:
    torch.manual_seed(0)
    settings: dict[str, Any] = {
        "family": family,
        "width": 16,
        "depth": 1,
        "mixer": {"kind": "attention", "heads": 2},
        "feed_forward": {"kind": "dense", "width": 32},
        "positions": {"kind": "sinusoidal"},
        "output": {"kind": output} if isinstance(output, str) else output,
        "dropout": dropout,
    }
    return build_model(ModelSettings.model_validate(settings | more), task.sizes()).double()


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Padded]:
    longest = max(map(len, rows))
    filled = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return filled, Padded.of([len(row) for row in rows])


def by_hand(scores: Sequence[Tensor], goals: Sequence[Sequence[int]], smoothing: float = 0.0) -> Tensor:
    """The sum of the losses of all rows; a goal of -1 does not count."""
    total = torch.zeros((), dtype=torch.float64)
    for scores_TV, goal_T in zip(scores, goals, strict=True):
        for score_V, goal in zip(scores_TV, goal_T, strict=False):
            if goal >= 0:
                log_p = F.log_softmax(score_V, -1)
                total = total - (1 - smoothing) * log_p[goal] - smoothing * log_p.mean()
    return total


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


def side(tokens_N: Tensor, lengths_B: Tensor) -> list[list[int]]:
    return [part.tolist() for part in tokens_N.split(lengths_B.tolist())]
