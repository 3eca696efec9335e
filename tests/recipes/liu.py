"""Recipes made smaller, to be trained on a few examples in seconds."""

import random
from collections.abc import Sequence

import torch

from seqloom.jobs.recipe import Recipe
from seqloom.jobs.recipe_file import find
from seqloom.models import Sizes, build_model, model_cost
from seqloom.models.build import Model
from seqloom.settings import load
from seqloom.tasks import Goals, Task
from seqloom.tasks.batch import Batch
from tests.laws import laws
from tests.laws.subject import Form, model_subject


def recipe(name: str, *changes: str) -> Recipe:
    return load(find(name), Recipe, changes)


def parameters(name: str) -> int:
    """With the paper's vocabulary."""
    made = recipe(name)
    size = made.target.source_size
    assert size is not None
    return model_cost(made.model, Sizes(size, made.target.target_size or size)).parameters


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


def obeys_the_laws(made: Recipe, size: int = 11) -> None:
    """Those of the assembled model: the future, padding, parts, the order of rows, and both paths."""
    torch.manual_seed(1)
    subject = model_subject(build_model(made.model, Sizes(size, size)), 1, torch.float64)
    rows = subject.rows([7, 1, 12], [0, 0, 0])
    for form in (Form("packed"), Form("right", 2), Form("left", 1)):
        laws.padding_changes_nothing(subject, rows, form)
        laws.paths_agree(subject, rows, form)
    if subject.causal:
        laws.future_changes_nothing(subject, rows, Form("packed"), [3, 0, 5])
        cuts = [[0, 4, 7], [0, 1, 1], [0, 5, 12]]
        laws.parts_are_the_whole(subject, rows, cuts, [Form("packed"), Form("right", 1)], None)
        laws.reordering_commutes(subject, rows, subject.rows([2, 2, 2], [0, 0, 0]), [2, 0, 0, 1])
