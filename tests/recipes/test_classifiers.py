"""Recipes that name the class of a text, a motion or a picture: what they cost, and that they can learn by heart."""

from typing import Any

import numpy as np
import pytest

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.convolution import Convolution
from seqloom.models.build import Model, build_model
from seqloom.models.cost import model_cost
from seqloom.models.head_settings import ClassesOutput
from seqloom.models.sizes import Sizes
from seqloom.tasks import Task, build_task, learn
from tests.recipes.shrunk import learnt, recipe
from tests.tasks.small import block, encoded

DRAW = np.random.default_rng(3)


def _task(made: Recipe, *columns: Any) -> Task:
    shape = "classes" if made.task.kind == "classify" and made.task.reads == "text" else "series"
    codecs = learn(made.text, shape, lambda: iter([block(*columns)]), readings=made.readings)  # type: ignore[arg-type]
    return build_task(made.task, codecs, made.model.family)


def _right(model: Model, task: Task, *columns: Any) -> float:
    batch = task.batch(encoded(task, *columns))
    assert batch.source is not None
    said = model.scores(model(batch.source.tokens_N, batch.source.layout)).argmax(-1)  # type: ignore[call-arg]
    return (said == batch.goal).float().mean().item()


def _motions() -> tuple[list[np.ndarray], list[str]]:
    """Three frequencies, in two noisy channels, of any length: only what is between steps tells them apart."""
    names, series = [], []
    for number in range(24):
        steps, kind = int(DRAW.integers(12, 30)), number % 3
        wave = np.sin(np.arange(steps) * (0.4, 1.2, 2.4)[kind] + DRAW.uniform(0, 6))
        series.append(np.stack([wave, -wave], 1) + DRAW.normal(0, 0.1, (steps, 2)))
        names.append(("slow", "middle", "fast")[kind])
    return series, names


def _pictures() -> tuple[list[np.ndarray], list[str]]:
    """A bar, lying or standing, somewhere."""
    pictures, names = [], []
    for number in range(24):
        picture = np.zeros((28, 28, 1))
        at = int(DRAW.integers(2, 26))
        picture[(slice(None), at) if number % 2 else (at, slice(None))] = 255
        pictures.append(picture)
        names.append(("lies", "stands")[number % 2])
    return pictures, names


def _texts() -> tuple[list[str], list[str]]:
    """The order of two words tells the class."""
    words = ["red", "green", "blue", "black", "white", "grey"]
    pairs = [(one, other) for one in words for other in words if one != other]
    return [f"{one} before {other}" for one, other in pairs], [str(one < other) for one, other in pairs]


@pytest.mark.parametrize(
    ("name", "columns", "steps", "changes"),
    [
        ("motion-classifier", _motions(), 60, ["model.width=32", "model.dropout=0"]),
        ("image-classifier", _pictures(), 60, ["model.depth=1", "model.dropout=0", "training.optimiser.rate=0.003"]),
        ("text-classifier", _texts(), 60, ["model.width=64", "model.dropout=0", "training.optimiser.rate=0.003"]),
    ],
)
def test_learnt_by_heart(name: str, columns: Any, steps: int, changes: list[str]) -> None:
    made = recipe(name, *changes, "model.output.dropout=0", "training.smoothing=0")
    if name == "text-classifier":
        made = recipe(name, *changes, "model.output.dropout=0", "text.source.size=60", "text.source.dropout=0")
    task = _task(made, *columns)
    assert _right(learnt(made, task, columns, steps), task, *columns) >= 0.99


@pytest.mark.parametrize(
    ("name", "sizes", "parameters"),
    [
        ("motion-classifier", Sizes(6, 4), 64 * 64 * 15 + 3 * 64 + 7 * 64 + 4 * 128 + 4 + 4 * 2 * 64),
        ("image-classifier", Sizes(1, 10), None),
        ("text-classifier", Sizes(4000, 6), None),
    ],
)
def test_parameters(name: str, sizes: Sizes, parameters: int | None) -> None:
    settings = recipe(name).model
    built = sum(parameter.numel() for parameter in build_model(settings, sizes).parameters())
    assert model_cost(settings, sizes).parameters == built
    assert parameters is None or built == parameters


def test_what_defines_them() -> None:
    """Convolutions read neighbours, and the maximum over all steps finds what stands anywhere."""
    for name in ("text-classifier", "motion-classifier"):
        settings = recipe(name).model
        assert all(isinstance(mixer, Convolution) and mixer.kernel > 1 for mixer in settings.mixers())
        assert isinstance(settings.output, ClassesOutput)
        assert "max" in settings.output.pools


def test_without_neighbours_motions_cannot_be_told_apart() -> None:
    """The trick of the recipe: with kernels of one step the frequencies look alike."""
    columns = _motions()
    alone = [f"model.mixer.{number}.kernel=1" for number in range(3)]
    made = recipe("motion-classifier", "model.width=32", "model.dropout=0", "model.output.dropout=0", *alone)
    task = _task(made, *columns)
    assert _right(learnt(made, task, columns, 60), task, *columns) < 0.9
