"""patch-forecast and linear-forecast: sizes, what defines them, and that they learn."""

import numpy as np
import pytest
import torch

from seqloom.jobs.recipes.cost import listed
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.tasks import Forecast, Goals
from seqloom.tasks.forecast import ForecastTask
from seqloom.training.optimisers import build_optimiser
from tests.laws import laws
from tests.laws.subject import Form, model_subject
from tests.recipes.shrunk import recipe
from tests.tasks.test_forecast import task, windows

TINY = ("task.look_back=8", "task.horizon=3", "model.input.length=4")
STRIDE = "model.input.stride=2"
STEPS = 120
DEPTH = {"patch-forecast-small": ("model.depth=1",)}


def test_parameters() -> None:
    """Counted by hand: embedding, positions, three layers with batch norms, and the flat output."""
    layer = 4 * (128 * 128 + 128) + 2 * 128 * 256 + 256 + 128 + 2 * 2 * 128
    whole = (16 * 128 + 128) + 64 * 128 + 3 * layer + 64 * 128 * 96 + 96
    assert listed(recipe("patch-forecast")).parameters == whole
    assert listed(recipe("linear-forecast")).parameters == 16 * 16 + 16 + 336 * 96 + 96


def made(name: str, *changes: str, targets: int = 2) -> tuple[Recipe, ForecastTask, Model]:
    small = recipe(name, *TINY, *([STRIDE] if "patch" in name else []), *changes)
    assert isinstance(small.task, Forecast)
    of = task(targets, channels=small.task.channels, normalise=small.task.normalise)
    torch.manual_seed(0)
    return small, of, build_model(small.model, of.sizes())


def waves(columns: int = 2) -> np.ndarray:
    steps = np.arange(20)[:, None]
    return np.sin(steps / (1 + np.arange(columns)) + np.arange(columns)) + 0.1 * steps


@pytest.mark.parametrize("name", ["patch-forecast-small", "linear-forecast"])
def test_windows_are_learnt_by_heart(name: str) -> None:
    small, of, model = made(name, "model.dropout=0", "training.optimiser.rate=0.03", *DEPTH.get(name, ()))
    batch = of.batch(windows(of, waves(), 8).read([0])[0])
    optimiser = build_optimiser(small.training.optimiser, model)
    for step in range(STEPS):
        model.zero_grad()
        loss = of.loss(model.train(), batch, Goals()) / batch.count
        loss.backward()
        optimiser.step(1 - step / STEPS)
    with torch.no_grad():
        said, _ = of.run(model.train(), batch)  # of batch norm, the batch's own statistics
    error = of.errors(said, batch.goal, ())["mse"].item() / batch.count
    assert error < 0.01 * batch.goal.var().item()


def test_columns_are_forecast_apart() -> None:
    """The other column changes nothing; together, it does."""
    for channels, same in ("apart", True), ("together", False):
        _, of, model = made("patch-forecast-small", f"task.channels={channels}")
        one, other = waves(), waves()
        other[:, 1] *= -3
        said = [of.run(model.eval(), of.batch(windows(of, each, 2).read([0])[0]))[0][:, :, 0] for each in (one, other)]
        assert torch.allclose(*said) is same


def test_a_linear_forecast_is_linear() -> None:
    """Sums are said as sums, and what is twice as strong is said so; layers between do neither."""
    for name, linear in ("linear-forecast", True), ("patch-forecast-small", False):
        _, of, model = made(name, "task.normalise=none", "model.dropout=0", targets=1)
        parts = [np.random.default_rng(seed).normal(size=(20, 1)) for seed in (0, 1)]
        zero = np.zeros((20, 1))
        said = [
            of.run(model.eval(), of.batch(windows(of, each, 1).read([0])[0]))[0]
            for each in (parts[0] + 2 * parts[1], *parts, zero)
        ]
        assert torch.allclose(said[0] - said[3], said[1] - said[3] + 2 * (said[2] - said[3]), atol=1e-5) is linear


@pytest.mark.parametrize("name", ["patch-forecast-small", "linear-forecast"])
def test_the_laws_hold(name: str) -> None:
    _, _, model = made(name)
    subject = model_subject(model, 1, torch.float64)
    rows = subject.rows([8, 5, 1], [0, 0, 0])
    # a flat output reads 8 steps, so nothing may pad them to more
    for form in (Form("packed"), Form("right", 0)):
        laws.padding_changes_nothing(subject, rows, form)
        laws.paths_agree(subject, rows, form)
