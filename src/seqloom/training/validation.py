"""The loss on examples that are not trained on."""

from collections.abc import Iterable
from dataclasses import replace

import torch

from seqloom.data.cache import Examples
from seqloom.models.build import Model
from seqloom.models.undisturbed import undisturbed
from seqloom.tasks import Goals, Task
from seqloom.tasks.carried import Carried


@torch.no_grad()
def mean_loss(model: Model, task: Task, batches: Iterable[Examples], device: torch.device) -> float:
    """Nats for each part of the goal that counts, without label smoothing; float32."""
    total, count = 0.0, 0
    carried = None if task.streams is None else Carried()
    with undisturbed(model):
        for examples in batches:
            batch = task.valid_batch(examples)
            total += task.loss(model, replace(batch.to(device), carried=carried), Goals()).item()
            count += batch.count
    return total / max(count, 1)
