"""Recipes made smaller, to be trained on a few examples in seconds."""

import random
from collections.abc import Sequence

import torch

from seqloom.models.build import Model
from seqloom.tasks import Goals, Task
from seqloom.tasks.batch import Batch


def backwards(count: int = 16) -> tuple[list[str], list[str]]:
    draw = random.Random(3)
    sources = [" ".join(draw.choices("abcdefgh", k=draw.randint(2, 5))) for _ in range(count)]
    return sources, [source[::-1] for source in sources]


def trained(task: Task, model: Model, batches: Sequence[Batch], steps: int, rate: float, goals: Goals) -> Model:
    """In eval mode. Each step is one of the batches, in turn."""
    optimiser = torch.optim.Adam(model.parameters(), rate)
    model.train()
    for step in range(steps):
        batch = batches[step % len(batches)]
        loss = task.loss(model, batch, goals) / batch.count
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()
